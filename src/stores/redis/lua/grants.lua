-- Comes before every script that hands out grant numbers.
--
-- A number is the server's time in microseconds, or one more than the last of the bucket if that is higher: so it rises
-- after FLUSHALL, a lost fail-over and a clock that was put back. It stays below 2^53, which a Lua number holds exactly;
-- written it must be by '%.0f', as the usual way keeps 14 digits only. A script sees one and the same time throughout.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- fence -> the last number of its bucket
local last = {}

-- Or nil and what is wrong with the fence: without it nobody can tell whether a number is higher than all before. So it is
-- written first; a number that then goes unused does no harm.
local function next_grant(fence, at_least)
  local before = last[fence]
  if not before then
    local kept = redis.pcall('GET', fence)
    if type(kept) == 'table' then return nil, kept.err end
    before = kept and string.match(kept, '^%d+$') and tonumber(kept) or (kept and math.huge or 0)
    if before >= 2 ^ 53 - 1 then return nil, 'WRONGTYPE ' .. fence .. ' holds no grant number' end
  end
  local grant = math.max(before + 1, now, at_least)
  local done = redis.pcall('SET', fence, string.format('%.0f', grant))
  if done.err then return nil, done.err end
  last[fence] = grant
  return grant
end
