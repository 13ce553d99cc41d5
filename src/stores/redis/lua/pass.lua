-- A process was woken for a key and has not asked for it: if the key is still free, the next one is woken.
--
-- KEYS 1  the record
-- ARGV 1  the id of the process if it goes on waiting, at the end of the list, else ''
-- ARGV 2  PUBLISH or SPUBLISH
-- ARGV 3  the length of what comes before the key in the record's name

local held = redis.call('HMGET', KEYS[1], 'owner', 'waiters')
local waiters = joined(held[2] or '', ARGV[1])
if held[1] then
  redis.call('HSET', KEYS[1], 'waiters', waiters)
elseif held[2] and held[2] ~= '' then
  wake(KEYS[1], waiters, ARGV[2], tonumber(ARGV[3]))
else
  keep(KEYS[1], waiters)
end
