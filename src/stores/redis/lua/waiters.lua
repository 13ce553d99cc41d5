-- Comes before every script that deals with the processes that wait for a key.
--
-- They are one text: the id of each, with a space after it; first come, first woken. A release takes the first off and
-- tells it, on a channel of its own: told all at once, all would ask, and all but one for nothing. The list outlives the
-- lock in the record, with no owner, for as long as the one that was told may need to ask.

-- Others poll until the list is shorter.
local MOST = 100
local OUTLIVES_MS = 10000

local function joined(waiters, id)
  if id == '' or string.find(' ' .. waiters, ' ' .. id .. ' ', 1, true) then return waiters end
  local _, count = string.gsub(waiters, ' ', '')
  if count >= MOST then return waiters end
  return waiters .. id .. ' '
end

local function left(waiters, id)
  local from, to = string.find(' ' .. waiters, ' ' .. id .. ' ', 1, true)
  if not from then return waiters end
  return string.sub(waiters, 1, from - 1) .. string.sub(waiters, to)
end

-- Of a record that nobody holds.
local function keep(record, waiters)
  if waiters == '' then
    redis.call('DEL', record)
  else
    redis.call('HSET', record, 'waiters', waiters)
    redis.call('PEXPIRE', record, OUTLIVES_MS)
  end
end

-- `publish` is PUBLISH, or SPUBLISH on a cluster. `base` is the length of "prefix:{bucket}:", all that comes before the
-- key in the name of its record. The one that is told learns the rest of the name.
--
-- No record is deleted and then written anew: on a cluster whose slot is on its way, what is missing is elsewhere.
local function wake(record, waiters, publish, base)
  local id, others = string.match(waiters, '^(%S+) (.*)')
  if others ~= '' then
    redis.call('HDEL', record, 'owner', 'grant', 'since', 'lease', 'service', 'instance', 'context', 'wanted')
  end
  keep(record, others)
  redis.call(publish, string.sub(record, 1, base) .. 'freed:' .. id, string.sub(record, base + 1))
end
