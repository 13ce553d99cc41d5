-- Comes first in the script that acquires: one key that nobody holds or waits for, which is how it mostly is. Whatever is
-- otherwise is left to the rest of the script, which begins anew: a fence that was raised for nothing does no harm. One who
-- has waited for the key does not come here: there mostly is a record, with those who wait behind it.
--
-- No function is made here, and the fence is read along with the record: for one key, that was half of the time.

if #KEYS == 2 and ARGV[4] == '0' then
  local found = redis.call('MGET', KEYS[1], KEYS[2])
  local last = not found[1] and found[2] and string.match(found[2], '^%d+$')
  local owner = ARGV[2] == '1' and string.match(ARGV[6], '^1 1 ([^\n]+)\n$')
  if last and owner then
    local time = redis.call('TIME')
    local grant = math.max(tonumber(last) + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))
    local written = string.format('%.0f', grant)
    if grant < 2 ^ 53 and not redis.pcall('SET', KEYS[2], written).err then
      local since = time[1] .. string.sub(string.format('%06d', time[2]), 1, 3)
      local record = owner .. ',"grant":' .. written .. ',"since":' .. since .. ARGV[5] .. '}'
      local done = redis.pcall('SET', KEYS[1], record, 'PX', ARGV[3], 'NX')
      if done and not done.err then return { grant } end
    end
  end
end
