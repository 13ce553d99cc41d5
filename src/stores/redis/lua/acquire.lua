-- Takes keys that nobody holds. Whoever holds a key already gets the same number and a fresh lease, never a shorter one.
--
-- KEYS    the record of each ask, then the fences of their buckets
-- ARGV 1  the id of the process that asks
-- ARGV 2  how many kinds of asks there are
-- ARGV …  for each kind its lease in ms, 1 if it waits, and from its lease on what goes into a record
-- ARGV …  a line for each ask: which of the fences it goes by, from 1, which kind it is, how a record of its owner begins
-- reply   for each ask its grant number; or { ms left, the record } of who holds the key; or, as text, what is wrong
--         with the record
--
-- A record that is something else is somebody else's: its ask fails, and no other. So does one whose fence is not to be
-- relied on. The asks are one text: as arguments, both sides would take more time to count them than to read it.

local waiter = ARGV[1]
local kinds = {}
local first = 3
for kind = 1, tonumber(ARGV[2]) do
  local rest = ARGV[first + 2]
  kinds[tostring(kind)] = { lease = ARGV[first], waits = ARGV[first + 1] == '1', rest = rest, all = rest .. '}' }
  first = first + 3
end

local asks, owners, fences = {}, {}, {}
local count = 0
for fence, kind, owner in string.gmatch(ARGV[first] or '', '(%d+) (%d+) ([^\n]+)') do
  count = count + 1
  fences[count], asks[count], owners[count] = tonumber(fence), kinds[kind], owner
end
local since = ',"since":' .. format('%.0f', math.floor(now / 1000))
local reply = {}

-- Most of a batch have the same, the time.
local shown = {}
local function show(grant)
  local text = shown[grant] or ',"grant":' .. format('%.0f', grant) .. since
  shown[grant] = text
  return text
end

-- Record and time to live are one: with the right to write but not to end it, a key would be held for ever.
local function take(record, ask, owner, grant, text)
  local done
  if text then
    local _, waiters = wish_in(text)
    local others = left(waiters, waiter)
    local tail = others ~= '' and ask.rest .. ',"waiters":"' .. others .. '"}' or ask.all
    done = pcall('SET', record, owner .. show(grant) .. tail, 'PX', ask.lease)
  else
    done = pcall('SET', record, owner .. show(grant) .. ask.all, 'PX', ask.lease, 'NX')
  end
  -- Something is there that MGET has not told of.
  return done and (done.err or grant) or problem(record, false)
end

local texts, grants = read(count), {}
if count > 0 then read_fences(count + 1) end
for i = 1, count do
  local text = texts[i]
  if text then reply[i] = problem(KEYS[i], text) end
  if not reply[i] and not (text and is_held(text)) then
    grants[i], reply[i] = next_grant(fences[i], 0)
  end
end
local fault = keep_fences()

for i = 1, count do
  local record, text = KEYS[i], texts[i]
  local owner, ask = owners[i], asks[i]
  if grants[i] then
    reply[i] = fault or take(record, ask, owner, grants[i], text)
  elseif not reply[i] and is_of(text, owner) then
    if call('PTTL', record) < tonumber(ask.lease) then
      -- First: a server that is out of memory allows it, and then what follows.
      call('PEXPIRE', record, ask.lease)
      call('SET', record, with_lease(text, ask.lease), 'KEEPTTL')
    end
    reply[i] = (numbers_in(text))
  elseif not reply[i] then
    local _, waiters = wish_in(text)
    wish(record, text, true, ask.waits and joined(waiters, waiter) or waiters)
    reply[i] = { call('PTTL', record), text }
  end
end

return reply
