-- Takes a key from whoever holds it, and wakes the first process that waits for it.
--
-- KEYS 1  the record
-- ARGV 1  the grant number that must be in force
-- ARGV 2  PUBLISH or SPUBLISH
-- ARGV 3  the length of what comes before the key in the record's name
-- reply   what was there, as in read.lua, or false if nothing was done

local held = redis.call('HMGET', KEYS[1], 'owner', 'grant', 'service', 'instance', 'context', 'since', 'lease', 'wanted', 'waiters')
if not held[1] or held[2] ~= ARGV[1] then return false end
local reply = { redis.call('PTTL', KEYS[1]), unpack(held, 1, 9) }
if held[9] and held[9] ~= '' then
  wake(KEYS[1], held[9], ARGV[2], tonumber(ARGV[3]))
else
  redis.call('DEL', KEYS[1])
end
return reply
