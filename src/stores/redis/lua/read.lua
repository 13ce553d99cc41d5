-- Reads records.
--
-- KEYS    the records
-- reply   for each { ms left, owner, grant, service, instance, context, since, lease, wanted, waiters }, or false if
--         nobody holds it or it is no record

local reply = {}

for i, record in ipairs(KEYS) do
  local held = redis.pcall('HMGET', record, 'owner', 'grant', 'service', 'instance', 'context', 'since', 'lease', 'wanted', 'waiters')
  if held.err or not held[1] then
    reply[i] = false
  else
    reply[i] = { redis.call('PTTL', record), unpack(held, 1, 9) }
  end
end

return reply
