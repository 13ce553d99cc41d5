-- Puts a process among those that wait for keys. Only where somebody holds the key: the others may be asked for now.
--
-- KEYS    the records
-- ARGV 1  the id of the process, or '' to look only
-- reply   for each 1 if somebody holds the key, else 0

local reply = {}

for i, record in ipairs(KEYS) do
  local held = redis.pcall('HMGET', record, 'owner', 'waiters')
  if held.err or not held[1] then
    reply[i] = 0
  else
    if ARGV[1] ~= '' then
      redis.call('HSET', record, 'wanted', 1, 'waiters', joined(held[2] or '', ARGV[1]))
    end
    reply[i] = 1
  end
end

return reply
