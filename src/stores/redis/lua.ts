// Written by `npm run embed` from lua/*.lua: change those.

export const acquire = `local waiter = ARGV[1]
local kinds = {}
local first = 3
for kind = 1, tonumber(ARGV[2]) do
  local rest = ARGV[first + 2]
  kinds[tostring(kind)] = { lease = ARGV[first], waits = ARGV[first + 1] == '1', rest = rest, all = rest .. '}' }
  first = first + 3
end
local asks, owners, fences = {}, {}, {}
local count = 0
for fence, kind, owner in string.gmatch(ARGV[first] or '', '(%d+) (%d+) ([^\\n]+)') do
  count = count + 1
  fences[count], asks[count], owners[count] = tonumber(fence), kinds[kind], owner
end
local since = ',"since":' .. format('%.0f', math.floor(now / 1000))
local reply = {}
local shown = {}
local function show(grant)
  local text = shown[grant] or ',"grant":' .. format('%.0f', grant) .. since
  shown[grant] = text
  return text
end
local function take(record, ask, owner, grant, text)
  local done
  if text then
    local _, waiters = wish_in(text)
    local others = left(waiters, waiter)
    local tail = others ~= '' and ask.rest .. ',"waiters":"' .. others .. '"}' or ask.all
    done = pcall('SET', record, owner .. show(grant) .. tail, 'PX', ask.lease)
  else
    done = pcall('SET', record, owner .. show(grant) .. ask.all, 'PX', ask.lease, 'NX')
  end
  return done and (done.err or grant) or problem(record, false)
end
local texts, grants = read(count), {}
if count > 0 then read_fences(count + 1) end
for i = 1, count do
  local text = texts[i]
  if text then reply[i] = problem(KEYS[i], text) end
  if not reply[i] and not (text and is_held(text)) then
    grants[i], reply[i] = next_grant(fences[i], 0)
  end
end
local fault = keep_fences()
for i = 1, count do
  local record, text = KEYS[i], texts[i]
  local owner, ask = owners[i], asks[i]
  if grants[i] then
    reply[i] = fault or take(record, ask, owner, grants[i], text)
  elseif not reply[i] and is_of(text, owner) then
    if call('PTTL', record) < tonumber(ask.lease) then
      call('PEXPIRE', record, ask.lease)
      call('SET', record, with_lease(text, ask.lease), 'KEEPTTL')
    end
    reply[i] = (numbers_in(text))
  elseif not reply[i] then
    local _, waiters = wish_in(text)
    wish(record, text, true, ask.waits and joined(waiters, waiter) or waiters)
    reply[i] = { call('PTTL', record), text }
  end
end
return reply
`

export const acquire_plain = `if ARGV[2] == '1' and ARGV[4] == '0' and #KEYS <= 4000 then
  local found, time = redis.call('MGET', unpack(KEYS)), redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local numbers, owners, count = {}, {}, 0
  for number, owner in string.gmatch(ARGV[6], '(%d+) %d+ ([^\\n]+)') do
    count = count + 1
    numbers[count], owners[count] = number, owner
  end
  local grants, last = {}, {}
  for i = 1, count do
    local fence = count + numbers[i]
    local before = last[fence] or string.match(found[fence] or '', '^%d+$')
    if found[i] or not before or before + 1 >= 2 ^ 53 then break end
    grants[i] = math.max(before + 1, now)
    last[fence] = grants[i]
  end
  if count > 0 and #grants == count then
    local written, raised = {}, {}
    for fence, grant in pairs(last) do
      written[grant] = written[grant] or string.format('%.0f', grant)
      raised[#raised + 1] = KEYS[fence]
      raised[#raised + 1] = written[grant]
    end
    local rest = ',"since":' .. time[1] .. string.sub(string.format('%06d', time[2]), 1, 3) .. ARGV[5] .. '}'
    local done = redis.pcall('MSET', unpack(raised))
    for i = 1, count do
      if not done or done.err then break end
      local grant = written[grants[i]] or string.format('%.0f', grants[i])
      done = redis.pcall('SET', KEYS[i], owners[i] .. ',"grant":' .. grant .. rest, 'PX', ARGV[3], 'NX')
    end
    if done and not done.err then return grants end
  end
end
`

export const dismiss = `local texts = read(#KEYS)
for i, record in ipairs(KEYS) do
  local text = texts[i]
  if text and not problem(record, text) then
    local wanted, before = wish_in(text)
    local waiters = left(before, ARGV[1])
    if is_held(text) then
      wish(record, text, wanted, waiters)
    elseif waiters ~= before then
      keep(record, waiters)
    end
  end
end
`

export const enlist = `local texts, reply = read(#KEYS), {}
for i, record in ipairs(KEYS) do
  local text = texts[i]
  if not text or not is_held(text) then
    reply[i] = 0
  else
    if ARGV[1] ~= '' then
      local _, waiters = wish_in(text)
      wish(record, text, true, joined(waiters, ARGV[1]))
    end
    reply[i] = 1
  end
end
return reply
`

export const evict = `local text = call('GET', KEYS[1])
if not text or not is_held(text) or numbers_in(text) ~= tonumber(ARGV[1]) then return false end
local reply = { call('PTTL', KEYS[1]), text }
local _, waiters = wish_in(text)
if waiters ~= '' then
  wake(KEYS[1], waiters, ARGV[2], tonumber(ARGV[3]))
else
  call('DEL', KEYS[1])
end
return reply
`

export const grants = `local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last, wrong, risen = {}, {}, {}
local fences_from
local function read_fences(from)
  fences_from = from
  local kept = call('MGET', unpack(KEYS, from))
  for number = 1, #kept do
    local text = kept[number]
    if not text then
      local alone = pcall('GET', KEYS[from + number - 1])
      if type(alone) == 'table' then wrong[number] = alone.err end
    end
    local grant = text and match(text, '^%d+$') and tonumber(text) or (text and math.huge or 0)
    last[number] = grant
    if grant >= 2 ^ 53 - 1 then wrong[number] = 'WRONGTYPE ' .. KEYS[from + number - 1] .. ' holds no grant number' end
  end
end
local function next_grant(number, at_least)
  if wrong[number] then return nil, wrong[number] end
  last[number] = math.max(last[number] + 1, now, at_least)
  risen[number] = true
  return last[number]
end
local function exact_grant(number, grant)
  if wrong[number] then return nil, wrong[number] end
  if grant > last[number] then
    last[number] = grant
    risen[number] = true
  end
  return grant
end
local function keep_fences()
  local fences, written = {}, {}
  for number in pairs(risen) do
    local grant = last[number]
    written[grant] = written[grant] or format('%.0f', grant)
    fences[#fences + 1] = KEYS[fences_from + number - 1]
    fences[#fences + 1] = written[grant]
  end
  return #fences > 0 and pcall('MSET', unpack(fences)).err or nil
end
`

export const pass = `local text = call('GET', KEYS[1])
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
`

export const read = `local texts, reply = read(#KEYS), {}
for i, record in ipairs(KEYS) do
  local text = texts[i]
  reply[i] = text and is_held(text) and { call('PTTL', record), text } or false
end
return reply
`

export const records = `local KEYS, ARGV = KEYS, ARGV
local call, pcall = redis.call, redis.pcall
local find, format, match, sub = string.find, string.format, string.match, string.sub
local SLICE = 5000
local function read(count)
  if count <= SLICE then return count > 0 and call('MGET', unpack(KEYS, 1, count)) or {} end
  local texts = {}
  for from = 1, count, SLICE do
    local slice = call('MGET', unpack(KEYS, from, math.min(from + SLICE - 1, count)))
    for i = 1, #slice do texts[from + i - 1] = slice[i] end
  end
  return texts
end
local function remove(records)
  for from = 1, #records, SLICE do
    call('DEL', unpack(records, from, math.min(from + SLICE - 1, #records)))
  end
end
local function is_held(text)
  return sub(text, 1, 10) == '{"owner":"'
end
local function is_of(text, owner)
  return sub(text, 1, #owner) == owner
end
local function numbers_in(text)
  local grant, lease = match(text, ',"grant":(%d+),"since":%d+,"lease":(%d+)')
  return tonumber(grant) or 0, tonumber(lease) or 0
end
local function with_grant(text, grant)
  return (string.gsub(text, ',"grant":%d+', ',"grant":' .. format('%.0f', grant), 1))
end
local function with_lease(text, lease)
  return (string.gsub(text, ',"lease":%d+', ',"lease":' .. lease, 1))
end
local function problem(record, text)
  if not text then
    local alone = pcall('GET', record)
    return type(alone) == 'table' and alone.err or nil
  end
  if is_held(text) or sub(text, 1, 12) == '{"waiters":"' then return nil end
  return 'WRONGTYPE ' .. record .. ' holds no lock'
end
`

export const release = `local texts, reply, free = read(#KEYS), {}, {}
local i = 0
for owner in string.gmatch(ARGV[3], '[^\\n]+') do
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
`

export const release_plain = `if #KEYS > 0 and #KEYS <= 4000 then
  local texts, reply = redis.call('MGET', unpack(KEYS)), {}
  for owner in string.gmatch(ARGV[3], '[^\\n]+') do
    local text = texts[#reply + 1]
    if not text or string.sub(text, 1, #owner) ~= owner or string.find(text, ',"wa', 1, true) then break end
    reply[#reply + 1] = 1
  end
  if #reply == #KEYS then
    redis.call('DEL', unpack(KEYS))
    return reply
  end
end
`

export const renew = `local count = tonumber(ARGV[1]) or 0
local texts, raised, reply = read(count), {}, {}
if #KEYS > count then read_fences(count + 1) end
local i = 0
for fence, goal, lease_text, owner in string.gmatch(ARGV[2], '(%d+) (%d+) (%d+) ([^\\n]+)') do
  i = i + 1
  local record, text = KEYS[i], texts[i]
  if not text or not is_of(text, owner) then
    reply[i] = problem(record, text) or 0
  else
    local grant, before = numbers_in(text)
    local lease = tonumber(lease_text)
    if lease >= before or call('PTTL', record) < lease then
      call('PEXPIRE', record, lease_text)
      if lease ~= before then
        texts[i] = with_lease(text, lease_text)
        call('SET', record, texts[i], 'KEEPTTL')
      end
    end
    reply[i] = grant
    fence, goal = tonumber(fence), tonumber(goal)
    if fence > 0 and (goal == 0 or goal > grant) then
      local fault
      if goal > 0 then
        raised[i], fault = exact_grant(fence, goal)
      else
        raised[i], fault = next_grant(fence, grant + 1)
      end
      reply[i] = fault or raised[i]
    end
  end
end
local fault = keep_fences()
for i, grant in pairs(raised) do
  if fault then
    reply[i] = fault
  else
    call('SET', KEYS[i], with_grant(texts[i], grant), 'KEEPTTL')
  end
end
return reply
`

export const waiters = `local MOST = 100
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
local function wish_in(text)
  local from = find(text, ',"wa', 1, true)
  if not from then return false, match(text, '^{"waiters":"([^"]*)"}$') or '', #text end
  return sub(text, from, from + 9) == ',"wanted":', match(text, '"waiters":"([^"]*)"}$', from) or '', from
end
local function wish(record, text, wanted, waiters)
  local was, before, from = wish_in(text)
  if was == wanted and before == waiters then return end
  local tail = waiters ~= '' and ',"waiters":"' .. waiters .. '"}' or '}'
  pcall('SET', record, sub(text, 1, from - 1) .. (wanted and ',"wanted":true' or '') .. tail, 'KEEPTTL')
end
local function keep(record, waiters)
  if waiters == '' then
    call('DEL', record)
  else
    local text = '{"waiters":"' .. waiters .. '"}'
    if pcall('SET', record, text, 'PX', OUTLIVES_MS).err and call('PEXPIRE', record, OUTLIVES_MS) == 1 then
      call('SET', record, text, 'PX', OUTLIVES_MS)
    end
  end
end
local function wake(record, waiters, publish, base)
  local id, others = match(waiters, '^(%S+) (.*)')
  keep(record, others)
  call(publish, sub(record, 1, base) .. 'freed:' .. id, sub(record, base + 1))
end
`
