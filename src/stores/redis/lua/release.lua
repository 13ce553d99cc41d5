-- Gives keys back, and wakes the first process that waits for each.
--
-- KEYS    the record of each claim
-- ARGV 1  PUBLISH or SPUBLISH
-- ARGV 2  the length of what comes before the key in a record's name
-- ARGV …  the owner of each claim
-- reply   for each 0 if it was not this owner's, 1 if it was, 2 if others want it besides; or, as text, what is wrong
--         with the record

local reply = {}

for i = 1, #ARGV - 2 do
  local record = KEYS[i]
  local held = redis.pcall('HMGET', record, 'owner', 'wanted', 'waiters')
  if held.err then
    reply[i] = held.err
  elseif held[1] ~= ARGV[i + 2] then
    reply[i] = 0
  else
    local waiters = held[3] or ''
    if waiters == '' then
      redis.call('DEL', record)
    else
      wake(record, waiters, ARGV[1], tonumber(ARGV[2]))
    end
    reply[i] = (held[2] or waiters ~= '') and 2 or 1
  end
end

return reply
