-- Prolongs leases of those who still have them, and never shortens one.
--
-- KEYS    the record of each renewal, then the fences of the buckets of those that rotate
-- ARGV    for each renewal its owner, its lease in ms, and which of the fences if it rotates, else 0
-- reply   for each the grant number, or 0 if it is not this owner's any more; or, as text, what is wrong with the record

local count = #ARGV / 3
local rotated, reply = {}, {}
if #KEYS > count then read_fences(count + 1) end

for i = 1, count do
  local record = KEYS[i]
  local at = 3 * i - 2
  local lease, fence = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
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
    if fence > 0 then
      local grant, fault = next_grant(fence, reply[i] + 1)
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
