-- Takes a process off the lists of those that wait.
--
-- KEYS    the records
-- ARGV 1  the id of the process

for _, record in ipairs(KEYS) do
  local held = redis.pcall('HMGET', record, 'owner', 'waiters')
  if not held.err and held[2] then
    local waiters = left(held[2], ARGV[1])
    if held[1] then
      redis.call('HSET', record, 'waiters', waiters)
    else
      keep(record, waiters)
    end
  end
end
