-- Comes first in the script that acquires: keys that nobody holds or waits for, which is how it mostly is. If one of them is
-- otherwise, all are left to the rest of the script, which begins anew: a fence that was raised for nothing does no harm, and
-- a record that is written already is of the same owner. One who has waited for a key does not come here: there mostly is a
-- record, with those who wait behind it.
--
-- No function is made here, and the fences are read along with the records: that was half of the time.

-- Lua passes no more arguments at once than some thousands.
if ARGV[2] == '1' and ARGV[4] == '0' and #KEYS <= 4000 then
  local found, time = redis.call('MGET', unpack(KEYS)), redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local numbers, owners, count = {}, {}, 0
  for number, owner in string.gmatch(ARGV[6], '(%d+) %d+ ([^\n]+)') do
    count = count + 1
    numbers[count], owners[count] = number, owner
  end

  -- `last` is by the place of a fence among KEYS.
  local grants, last = {}, {}
  for i = 1, count do
    local fence = count + numbers[i]
    local before = last[fence] or string.match(found[fence] or '', '^%d+$')
    if found[i] or not before or before + 1 >= 2 ^ 53 then break end
    grants[i] = math.max(before + 1, now)
    last[fence] = grants[i]
  end

  if count > 0 and #grants == count then
    -- Most numbers are the same, the time.
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
