-- Prolongs leases of those who still have them, and never shortens one.
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
