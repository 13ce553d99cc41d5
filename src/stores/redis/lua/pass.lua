-- A process was woken for a key and has not asked for it: if the key is still free, the next one is woken.
--
-- KEYS 1  the record
-- ARGV 1  the id of the process if it goes on waiting, at the end of the list, else ''
-- ARGV 2  PUBLISH or SPUBLISH
-- ARGV 3  the length of what comes before the key in the record's name

local text = call('GET', KEYS[1])
if text and problem(KEYS[1], text) then return end
local wanted, before = false, ''
if text then wanted, before = wish_in(text) end
local waiters = joined(before, ARGV[1])
if text and is_held(text) then
  wish(KEYS[1], text, wanted, waiters)
elseif before ~= '' then
  wake(KEYS[1], waiters, ARGV[2], tonumber(ARGV[3]))
else
  keep(KEYS[1], waiters)
end
