-- Takes keys that nobody holds. Whoever holds a key already gets the same number and a fresh lease, never a shorter one.
--
-- KEYS    the record of each ask, then the fences of their buckets
-- ARGV 1  the id of the process that asks
-- ARGV 2  how many kinds of asks there are
-- ARGV …  for each kind its lease in ms, 1 if it waits, service, instance, and '=' with its context, or ''
-- ARGV …  for each ask its owner, which kind it is, and which of the fences it goes by, from 1
-- reply   for each ask its grant number; or { ms left, service, instance, context } of who holds the key; or, as text,
--         what is wrong with the record
--
-- A record that is of another type is somebody else's: its ask fails, and no other. So does one whose fence is not to be
-- relied on. Arguments are plain texts: reading them as JSON took a quarter of the time.

local waiter = ARGV[1]
local kinds = {}
for kind = 1, tonumber(ARGV[2]) do
  local at = 5 * kind - 2
  local context = ARGV[at + 4]
  kinds[kind] = {
    lease = tonumber(ARGV[at]),
    waits = ARGV[at + 1] == '1',
    service = ARGV[at + 2],
    instance = ARGV[at + 3],
    context = context ~= '' and string.sub(context, 2),
  }
end

local first = 5 * #kinds + 3
local count = (#ARGV - first + 1) / 3
local since = string.format('%.0f', math.floor(now / 1000))
local reply = {}

local function take(record, ask, owner, grant, waiters)
  if waiters then redis.call('HSET', record, 'waiters', left(waiters, waiter)) end
  redis.call(
    'HSET', record, 'owner', owner, 'grant', string.format('%.0f', grant), 'since', since, 'lease', ask.lease,
    'service', ask.service, 'instance', ask.instance
  )
  if ask.context then redis.call('HSET', record, 'context', ask.context) end
  local done = redis.pcall('PEXPIRE', record, ask.lease)
  if type(done) ~= 'table' then return grant end
  -- Without the right to do this, the key would be held for ever.
  redis.call('DEL', record)
  return done.err
end

local records, grants = {}, {}
if count > 0 then read_fences(count + 1) end
for i = 1, count do
  records[i] = redis.pcall('HMGET', KEYS[i], 'owner', 'grant', 'waiters')
  if records[i].err then
    reply[i] = records[i].err
  elseif not records[i][1] then
    grants[i], reply[i] = next_grant(tonumber(ARGV[first + 3 * i - 1]), 0)
  end
end
local fault = keep_fences()

for i = 1, count do
  local record, held = KEYS[i], records[i]
  local at = first + 3 * (i - 1)
  local owner, ask = ARGV[at], kinds[tonumber(ARGV[at + 1])]
  if grants[i] then
    reply[i] = fault or take(record, ask, owner, grants[i], held[3])
  elseif not reply[i] and held[1] == owner then
    if redis.call('PTTL', record) < ask.lease then
      redis.call('PEXPIRE', record, ask.lease)
      redis.call('HSET', record, 'lease', ask.lease)
    end
    reply[i] = held[2]
  elseif not reply[i] then
    -- A help, not a condition: a server that is out of memory refuses it.
    redis.pcall('HSET', record, 'wanted', 1)
    if ask.waits then redis.pcall('HSET', record, 'waiters', joined(held[3] or '', waiter)) end
    local holder = redis.call('HMGET', record, 'service', 'instance', 'context')
    reply[i] = { redis.call('PTTL', record), holder[1], holder[2], holder[3] }
  end
end

return reply
