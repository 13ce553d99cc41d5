-- Takes a key from whoever holds it, and wakes the first process that waits for it.
--
-- KEYS 1  the record
-- ARGV 1  the grant number that must be in force
-- ARGV 2  PUBLISH or SPUBLISH
-- ARGV 3  the length of what comes before the key in the record's name
-- reply   what was there, as in read.lua, or false if nothing was done

local text = call('GET', KEYS[1])
if not text or not is_held(text) or numbers_in(text) ~= tonumber(ARGV[1]) then return false end
local reply = { call('PTTL', KEYS[1]), text }
local _, waiters = wish_in(text)
if waiters ~= '' then
  wake(KEYS[1], waiters, ARGV[2], tonumber(ARGV[3]))
else
  call('DEL', KEYS[1])
end
return reply
