// Written by `npm run embed` from lua/*.lua: change those.

export const acquire = `-- Takes keys that nobody holds. Whoever holds a key already gets the same number and a fresh lease, never a shorter one.
--
-- KEYS    the record of each ask, then the fences of their buckets
-- ARGV 1  JSON: for each ask its owner, lease in ms, which of the holders, which of the fences, and 1 if it waits, else 0
-- ARGV 2  JSON: for each holder its service, instance and context (false if it has none)
-- ARGV 3  the id of the process that asks
-- reply   for each ask its grant number; or { ms left, service, instance, context } of who holds the key; or, as text,
--         what is wrong with the record
--
-- A record that is of another type is somebody else's: its ask fails, and no other. So does one whose fence is not to be
-- relied on.

local asks = cjson.decode(ARGV[1])
local holders = cjson.decode(ARGV[2])
local waiter = ARGV[3]
local count = #asks / 5
local reply = {}

-- Without the right to do this, the key would be held for ever.
local function expiring(record, lease)
  local done = redis.pcall('PEXPIRE', record, lease)
  if type(done) ~= 'table' then return nil end
  redis.call('DEL', record)
  return done.err
end

for i = 1, count do
  local record = KEYS[i]
  local at = (i - 1) * 5
  local owner, lease = asks[at + 1], asks[at + 2]
  local held = redis.pcall('HMGET', record, 'owner', 'grant', 'waiters')
  if held.err then
    reply[i] = held.err
  elseif not held[1] then
    local grant, fault = next_grant(KEYS[count + asks[at + 4]], 0)
    if grant then
      local holder = (asks[at + 3] - 1) * 3
      local fields = {
        'owner', owner, 'grant', string.format('%.0f', grant), 'since', string.format('%.0f', math.floor(now / 1000)),
        'lease', lease, 'service', holders[holder + 1], 'instance', holders[holder + 2],
      }
      if holders[holder + 3] then
        fields[13], fields[14] = 'context', holders[holder + 3]
      end
      if held[3] then redis.call('HSET', record, 'waiters', left(held[3], waiter)) end
      redis.call('HSET', record, unpack(fields))
      fault = expiring(record, lease)
    end
    reply[i] = fault or grant
  elseif held[1] == owner then
    if redis.call('PTTL', record) < lease then redis.call('PEXPIRE', record, lease) end
    reply[i] = held[2]
  else
    redis.call('HSET', record, 'wanted', 1)
    if asks[at + 5] == 1 then redis.call('HSET', record, 'waiters', joined(held[3] or '', waiter)) end
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
-- ARGV 1  the grant number that must be in force, or '' for any
-- ARGV 2  PUBLISH or SPUBLISH
-- ARGV 3  the length of what comes before the key in the record's name
-- reply   what was there, as in read.lua, or false if nothing was done

local held = redis.call('HMGET', KEYS[1], 'owner', 'grant', 'service', 'instance', 'context', 'since', 'lease', 'wanted', 'waiters')
if not held[1] then return false end
if ARGV[1] ~= '' and held[2] ~= ARGV[1] then return false end
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

-- Or nil and what is wrong with the fence: without it nobody can tell whether a number is higher than all before. So it is
-- written first; a number that then goes unused does no harm.
local function next_grant(fence, at_least)
  local kept = redis.pcall('GET', fence)
  if type(kept) == 'table' then return nil, kept.err end
  local before = kept and string.match(kept, '^%d+$') and tonumber(kept) or (kept and math.huge or 0)
  if before >= 2 ^ 53 - 1 then return nil, 'WRONGTYPE ' .. fence .. ' holds no grant number' end
  local grant = math.max(before + 1, now, at_least)
  local done = redis.pcall('SET', fence, string.format('%.0f', grant))
  if done.err then return nil, done.err end
  return grant
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
-- ARGV 1  JSON: the owner of each claim
-- ARGV 2  PUBLISH or SPUBLISH
-- ARGV 3  the length of what comes before the key in a record's name
-- reply   for each 0 if it was not this owner's, 1 if it was, 2 if others want it besides; or, as text, what is wrong
--         with the record

local owners = cjson.decode(ARGV[1])
local reply = {}

for i = 1, #owners do
  local record = KEYS[i]
  local held = redis.pcall('HMGET', record, 'owner', 'wanted', 'waiters')
  if held.err then
    reply[i] = held.err
  elseif held[1] ~= owners[i] then
    reply[i] = 0
  else
    local waiters = held[3] or ''
    if waiters == '' then
      redis.call('DEL', record)
    else
      wake(record, waiters, ARGV[2], tonumber(ARGV[3]))
    end
    reply[i] = (held[2] or waiters ~= '') and 2 or 1
  end
end

return reply
`

export const renew = `-- Prolongs leases of those who still have them, and never shortens one.
--
-- KEYS    the record of each renewal, then the fences of the buckets of those that rotate
-- ARGV 1  JSON: for each renewal its owner, lease in ms, and which of the fences if it rotates, else 0
-- reply   for each the grant number, or 0 if it is not this owner's any more; or, as text, what is wrong with the record

local renewals = cjson.decode(ARGV[1])
local count = #renewals / 3
local reply = {}

for i = 1, count do
  local record = KEYS[i]
  local at = (i - 1) * 3
  local lease, fence = renewals[at + 2], renewals[at + 3]
  local held = redis.pcall('HMGET', record, 'owner', 'grant', 'lease')
  if held.err then
    reply[i] = held.err
  elseif held[1] ~= renewals[at + 1] then
    reply[i] = 0
  else
    -- First: a server that is out of memory allows it, and then what follows.
    if redis.call('PTTL', record) < lease then redis.call('PEXPIRE', record, lease) end
    if tonumber(held[3]) ~= lease then redis.call('HSET', record, 'lease', lease) end
    local grant, fault = tonumber(held[2]) or 0, nil
    if fence > 0 then
      grant, fault = next_grant(KEYS[count + fence], grant + 1)
      if grant then redis.call('HSET', record, 'grant', string.format('%.0f', grant)) end
    end
    reply[i] = fault or grant
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
