-- Comes before every script that deals with the processes that wait for a key.
--
-- They are one text: the id of each, with a space after it; first come, first woken. A release takes the first off and
-- tells it, on a channel of its own: told all at once, all would ask, and all but one for nothing. The list outlives the
-- lock in the record, with no owner, for as long as the one that was told may need to ask.

-- Others poll until the list is shorter.
local MOST = 100
local OUTLIVES_MS = 10000

local function joined(waiters, id)
  if id == '' or find(' ' .. waiters, ' ' .. id .. ' ', 1, true) then return waiters end
  local _, count = string.gsub(waiters, ' ', '')
  if count >= MOST then return waiters end
  return waiters .. id .. ' '
end

local function left(waiters, id)
  local from, to = find(' ' .. waiters, ' ' .. id .. ' ', 1, true)
  if not from then return waiters end
  return sub(waiters, 1, from - 1) .. sub(waiters, to)
end

-- Whether somebody wants it, the list of those that wait, and where both begin: after the record proper.
local function wish_in(text)
  local from = find(text, ',"wa', 1, true)
  if not from then return false, match(text, '^{"waiters":"([^"]*)"}$') or '', #text end
  return sub(text, from, from + 9) == ',"wanted":', match(text, '"waiters":"([^"]*)"}$', from) or '', from
end

-- Writes what is wanted of a record that is held, if that is to change, and leaves it the time it had.
local function wish(record, text, wanted, waiters)
  local was, before, from = wish_in(text)
  if was == wanted and before == waiters then return end
  local tail = waiters ~= '' and ',"waiters":"' .. waiters .. '"}' or '}'
  -- A help, not a condition: a server that is out of memory refuses it.
  pcall('SET', record, sub(text, 1, from - 1) .. (wanted and ',"wanted":true' or '') .. tail, 'KEEPTTL')
end

-- Of a record that nobody holds.
local function keep(record, waiters)
  if waiters == '' then
    call('DEL', record)
  else
    local text = '{"waiters":"' .. waiters .. '"}'
    -- A server that is out of memory refuses it, unless the script has written before. To give back is always possible.
    if pcall('SET', record, text, 'PX', OUTLIVES_MS).err and call('PEXPIRE', record, OUTLIVES_MS) == 1 then
      call('SET', record, text, 'PX', OUTLIVES_MS)
    end
  end
end

-- `publish` is PUBLISH, or SPUBLISH on a cluster. `base` is the length of "prefix:{bucket}:", all that comes before the
-- key in the name of its record. The one that is told learns the rest of the name.
--
-- No record is deleted and then written anew: on a cluster whose slot is on its way, what is missing is elsewhere.
local function wake(record, waiters, publish, base)
  local id, others = match(waiters, '^(%S+) (.*)')
  keep(record, others)
  call(publish, sub(record, 1, base) .. 'freed:' .. id, sub(record, base + 1))
end
