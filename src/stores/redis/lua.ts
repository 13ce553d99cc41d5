// Written by `npm run embed` from lua/*.lua: change those.

export const acquire = `-- Takes keys that nobody holds. Whoever holds a key already gets the same number and a fresh lease, never a shorter one.
--
-- KEYS    the record of each ask, then the fences of their buckets
-- ARGV 1  the id of the process that asks
-- ARGV 2  how many kinds of asks there are
-- ARGV …  for each kind its lease in ms, 1 if it waits, service, instance, and '=' with its context, or ''
-- ARGV …  for each ask its owner, which kind it is, and which of the fences it goes by, from 1
-- reply   for each ask its grant number; or { ms left, service, instance, context } of who holds the key; or, as text,
--         what is wrong with the record
--
-- A record that is of another type is somebody else's: its ask fails, and no other. So does one whose fence is not to be
-- relied on. Arguments are plain texts: reading them as JSON took a quarter of the time.

local waiter = ARGV[1]
local kinds = {}
for kind = 1, tonumber(ARGV[2]) do
  local at = 5 * kind - 2
  local context = ARGV[at + 4]
  kinds[kind] = {
    lease = tonumber(ARGV[at]),
    waits = ARGV[at + 1] == '1',
    service = ARGV[at + 2],
    instance = ARGV[at + 3],
    context = context ~= '' and string.sub(context, 2),
  }
end

local first = 5 * #kinds + 3
local count = (#ARGV - first + 1) / 3
local since = string.format('%.0f', math.floor(now / 1000))
local reply = {}

local function take(record, ask, owner, grant, waiters)
  if waiters then redis.call('HSET', record, 'waiters', left(waiters, waiter)) end
  redis.call(
    'HSET', record, 'owner', owner, 'grant', string.format('%.0f', grant), 'since', since, 'lease', ask.lease,
    'service', ask.service, 'instance', ask.instance
  )
  if ask.context then redis.call('HSET', record, 'context', ask.context) end
  local done = redis.pcall('PEXPIRE', record, ask.lease)
  if type(done) ~= 'table' then return grant end
  -- Without the right to do this, the key would be held for ever.
  redis.call('DEL', record)
  return done.err
end

local records, grants = {}, {}
if count > 0 then read_fences(count + 1) end
for i = 1, count do
  records[i] = redis.pcall('HMGET', KEYS[i], 'owner', 'grant', 'waiters')
  if records[i].err then
    reply[i] = records[i].err
  elseif not records[i][1] then
    grants[i], reply[i] = next_grant(tonumber(ARGV[first + 3 * i - 1]), 0)
  end
end
local fault = keep_fences()

for i = 1, count do
  local record, held = KEYS[i], records[i]
  local at = first + 3 * (i - 1)
  local owner, ask = ARGV[at], kinds[tonumber(ARGV[at + 1])]
  if grants[i] then
    reply[i] = fault or take(record, ask, owner, grants[i], held[3])
  elseif not reply[i] and held[1] == owner then
    if redis.call('PTTL', record) < ask.lease then
      redis.call('PEXPIRE', record, ask.lease)
      redis.call('HSET', record, 'lease', ask.lease)
    end
    reply[i] = held[2]
  elseif not reply[i] then
    -- A help, not a condition: a server that is out of memory refuses it.
    redis.pcall('HSET', record, 'wanted', 1)
    if ask.waits then redis.pcall('HSET', record, 'waiters', joined(held[3] or '', waiter)) end
    local holder = redis.call('HMGET', record, 'service', 'instance', 'context')
    reply[i] = { redis.call('PTTL', record), holder[1], holder[2], holder[3] }
  end
end

return reply
`

export const dismiss = `-- Takes a process off the lists of those that wait.
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
`

export const enlist = `-- Puts a process among those that wait for keys. Only where somebody holds the key: the others may be asked for now.
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
`

export const evict = `-- Takes a key from whoever holds it, and wakes the first process that waits for it.
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
`

export const grants = `-- Comes before every script that hands out grant numbers.
--
-- A number is the server's time in microseconds, or one more than the last of the bucket if that is higher: so it rises
-- after FLUSHALL, a lost fail-over and a clock that was put back. It stays below 2^53, which a Lua number holds exactly;
-- written it must be by '%.0f', as the usual way keeps 14 digits only. A script sees one and the same time throughout.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- By the number of a fence: the last number of its bucket, what is wrong with it, whether it has risen.
local last, wrong, risen = {}, {}, {}
local fences_from

-- All at once: each call of the server costs more than what it does. The fences are KEYS from \`from\` on.
local function read_fences(from)
  fences_from = from
  local kept = redis.call('MGET', unpack(KEYS, from))
  for number = 1, #kept do
    local text = kept[number]
    if not text then
      -- MGET does not tell what is missing from what is of another type, and MSET would replace it.
      local alone = redis.pcall('GET', KEYS[from + number - 1])
      if type(alone) == 'table' then wrong[number] = alone.err end
    end
    local grant = text and string.match(text, '^%d+$') and tonumber(text) or (text and math.huge or 0)
    last[number] = grant
    if grant >= 2 ^ 53 - 1 then wrong[number] = 'WRONGTYPE ' .. KEYS[from + number - 1] .. ' holds no grant number' end
  end
end

-- Or nil and what is wrong with the fence: without it nobody can tell whether a number is higher than all before.
local function next_grant(number, at_least)
  if wrong[number] then return nil, wrong[number] end
  last[number] = math.max(last[number] + 1, now, at_least)
  risen[number] = true
  return last[number]
end

-- As above, for a number that is to be this one and no other. What is minted from now on is higher.
local function exact_grant(number, grant)
  if wrong[number] then return nil, wrong[number] end
  if grant > last[number] then
    last[number] = grant
    risen[number] = true
  end
  return grant
end

-- Before any of the numbers is given out: one that then goes unused does no harm. What is wrong, if it cannot be done.
local function keep_fences()
  local fences = {}
  for number in pairs(risen) do
    fences[#fences + 1] = KEYS[fences_from + number - 1]
    fences[#fences + 1] = string.format('%.0f', last[number])
  end
  return #fences > 0 and redis.pcall('MSET', unpack(fences)).err or nil
end
`

export const pass = `-- A process was woken for a key and has not asked for it: if the key is still free, the next one is woken.
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
`

export const read = `-- Reads records.
--
-- KEYS    the records
-- reply   for each { ms left, owner, grant, service, instance, context, since, lease, wanted, waiters }, or false if
--         nobody holds it or it is no record

local reply = {}

for i, record in ipairs(KEYS) do
  local held = redis.pcall('HMGET', record, 'owner', 'grant', 'service', 'instance', 'context', 'since', 'lease', 'wanted', 'waiters')
  if held.err or not held[1] then
    reply[i] = false
  else
    reply[i] = { redis.call('PTTL', record), unpack(held, 1, 9) }
  end
end

return reply
`

export const release = `-- Gives keys back, and wakes the first process that waits for each.
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
`

export const renew = `-- Prolongs leases of those who still have them, and never shortens one.
--
-- KEYS    the record of each renewal, then the fences of the buckets of those whose number is to change
-- ARGV    for each renewal its owner, its lease in ms, which of the fences if its number is to change, else 0, and what
--         to raise it to, or 0 to take the next
-- reply   for each the grant number, or 0 if it is not this owner's any more; or, as text, what is wrong with the record

local count = #ARGV / 4
local rotated, reply = {}, {}
if #KEYS > count then read_fences(count + 1) end

for i = 1, count do
  local record = KEYS[i]
  local at = 4 * i - 3
  local lease, fence, goal = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local held = redis.pcall('HMGET', record, 'owner', 'grant', 'lease')
  if held.err then
    reply[i] = held.err
  elseif held[1] ~= ARGV[at] then
    reply[i] = 0
  else
    local before = tonumber(held[3]) or 0
    -- What is left is at most what the record says: so it says what was given last, not what was asked for. First: a server
    -- that is out of memory allows it, and then what follows.
    if lease >= before or redis.call('PTTL', record) < lease then
      redis.call('PEXPIRE', record, lease)
      if lease ~= before then redis.call('HSET', record, 'lease', lease) end
    end
    reply[i] = tonumber(held[2]) or 0
    if fence > 0 and (goal == 0 or goal > reply[i]) then
      local grant, fault
      if goal > 0 then
        grant, fault = exact_grant(fence, goal)
      else
        grant, fault = next_grant(fence, reply[i] + 1)
      end
      rotated[i], reply[i] = grant, fault or grant
    end
  end
end

local fault = keep_fences()
for i, grant in pairs(rotated) do
  if fault then
    reply[i] = fault
  else
    redis.call('HSET', KEYS[i], 'grant', string.format('%.0f', grant))
  end
end

return reply
`

export const waiters = `-- Comes before every script that deals with the processes that wait for a key.
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

-- \`publish\` is PUBLISH, or SPUBLISH on a cluster. \`base\` is the length of "prefix:{bucket}:", all that comes before the
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
`
