-- Comes before every script.
--
-- A record is one text, JSON that a person can read:
--   {"owner":"…","grant":…,"since":…,"lease":…,"service":"…","instance":"…","context":"…","wanted":true,"waiters":"…"}
-- without a context if there is none, and without what comes after it until somebody wants the key. While nobody holds
-- the key it is no more than {"waiters":"…"}. As texts, many are read by one call of the server and removed by one: each
-- call costs more than what it does. They are not taken apart by a JSON reader, which costs more still: the fields stand
-- in this order, and no text inside can be taken for a field, as its quotes are escaped.

local KEYS, ARGV = KEYS, ARGV
local call, pcall = redis.call, redis.pcall
local find, format, match, sub = string.find, string.format, string.match, string.sub

-- Lua passes no more arguments at once than this, and some.
local SLICE = 5000

local function read(count)
  if count <= SLICE then return count > 0 and call('MGET', unpack(KEYS, 1, count)) or {} end
  local texts = {}
  for from = 1, count, SLICE do
    local slice = call('MGET', unpack(KEYS, from, math.min(from + SLICE - 1, count)))
    for i = 1, #slice do texts[from + i - 1] = slice[i] end
  end
  return texts
end

local function remove(records)
  for from = 1, #records, SLICE do
    call('DEL', unpack(records, from, math.min(from + SLICE - 1, #records)))
  end
end

local function is_held(text)
  return sub(text, 1, 10) == '{"owner":"'
end

-- `owner` is how the records of this owner begin, up to a quote: none is the beginning of another.
local function is_of(text, owner)
  return sub(text, 1, #owner) == owner
end

-- Of a record that is held.
local function numbers_in(text)
  local grant, lease = match(text, ',"grant":(%d+),"since":%d+,"lease":(%d+)')
  return tonumber(grant) or 0, tonumber(lease) or 0
end

local function with_grant(text, grant)
  return (string.gsub(text, ',"grant":%d+', ',"grant":' .. format('%.0f', grant), 1))
end

local function with_lease(text, lease)
  return (string.gsub(text, ',"lease":%d+', ',"lease":' .. lease, 1))
end

-- What is wrong with something that is no record; nil if nothing is there. `text` is what MGET has said of it.
local function problem(record, text)
  if not text then
    local alone = pcall('GET', record)
    return type(alone) == 'table' and alone.err or nil
  end
  if is_held(text) or sub(text, 1, 12) == '{"waiters":"' then return nil end
  return 'WRONGTYPE ' .. record .. ' holds no lock'
end
