-- Takes keys that nobody holds. Whoever holds a key already gets the same number and a fresh lease, never a shorter one.
--
-- KEYS    the record of each ask, then the fences of their buckets
-- ARGV 1  JSON: for each ask its owner, lease in ms, which of the holders, which of the fences, and 1 if it waits, else 0
-- ARGV 2  JSON: for each holder its service, instance and context (false if it has none)
-- ARGV 3  the id of the process that asks
-- reply   for each ask its grant number; or { ms left, service, instance, context } of who holds the key; or, as text,
--         what is wrong with the record
--
-- A record that is of another type is somebody else's: its ask fails, and no other. So does one whose fence is not to be
-- relied on.

local asks = cjson.decode(ARGV[1])
local holders = cjson.decode(ARGV[2])
local waiter = ARGV[3]
local count = #asks / 5
local reply = {}

-- Without the right to do this, the key would be held for ever.
local function expiring(record, lease)
  local done = redis.pcall('PEXPIRE', record, lease)
  if type(done) ~= 'table' then return nil end
  redis.call('DEL', record)
  return done.err
end

for i = 1, count do
  local record = KEYS[i]
  local at = (i - 1) * 5
  local owner, lease = asks[at + 1], asks[at + 2]
  local held = redis.pcall('HMGET', record, 'owner', 'grant', 'waiters')
  if held.err then
    reply[i] = held.err
  elseif not held[1] then
    local grant, fault = next_grant(KEYS[count + asks[at + 4]], 0)
    if grant then
      local holder = (asks[at + 3] - 1) * 3
      local fields = {
        'owner', owner, 'grant', string.format('%.0f', grant), 'since', string.format('%.0f', math.floor(now / 1000)),
        'lease', lease, 'service', holders[holder + 1], 'instance', holders[holder + 2],
      }
      if holders[holder + 3] then
        fields[13], fields[14] = 'context', holders[holder + 3]
      end
      if held[3] then redis.call('HSET', record, 'waiters', left(held[3], waiter)) end
      redis.call('HSET', record, unpack(fields))
      fault = expiring(record, lease)
    end
    reply[i] = fault or grant
  elseif held[1] == owner then
    if redis.call('PTTL', record) < lease then redis.call('PEXPIRE', record, lease) end
    reply[i] = held[2]
  else
    redis.call('HSET', record, 'wanted', 1)
    if asks[at + 5] == 1 then redis.call('HSET', record, 'waiters', joined(held[3] or '', waiter)) end
    local holder = redis.call('HMGET', record, 'service', 'instance', 'context')
    reply[i] = { redis.call('PTTL', record), holder[1], holder[2], holder[3] }
  end
end

return reply
