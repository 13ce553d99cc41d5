-- Gives keys back, and wakes the first process that waits for each.
--
-- KEYS    the record of each claim
-- ARGV 1  PUBLISH or SPUBLISH
-- ARGV 2  the length of what comes before the key in a record's name
-- ARGV 3  a line for each claim: how a record of its owner begins
-- reply   for each 0 if it was not this owner's, 1 if it was, 2 if others want it besides; or, as text, what is wrong
--         with the record

local texts, reply, free = read(#KEYS), {}, {}
local i = 0

for owner in string.gmatch(ARGV[3], '[^\n]+') do
  i = i + 1
  local text = texts[i]
  if not text or not is_of(text, owner) then
    reply[i] = problem(KEYS[i], text) or 0
  else
    local wanted, waiters = wish_in(text)
    if waiters == '' then
      free[#free + 1] = KEYS[i]
    else
      wake(KEYS[i], waiters, ARGV[1], tonumber(ARGV[2]))
    end
    reply[i] = (wanted or waiters ~= '') and 2 or 1
  end
end

remove(free)
return reply
