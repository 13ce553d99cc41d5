-- Comes before every script that hands out grant numbers.
--
-- A number is the server's time in microseconds, or one more than the last of the bucket if that is higher: so it rises
-- after FLUSHALL, a lost fail-over and a clock that was put back. It stays below 2^53, which a Lua number holds exactly;
-- written it must be by '%.0f', as the usual way keeps 14 digits only. A script sees one and the same time throughout.

local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- By the number of a fence: the last number of its bucket, what is wrong with it, whether it has risen.
local last, wrong, risen = {}, {}, {}
local fences_from

-- All at once: each call of the server costs more than what it does. The fences are KEYS from `from` on.
local function read_fences(from)
  fences_from = from
  local kept = call('MGET', unpack(KEYS, from))
  for number = 1, #kept do
    local text = kept[number]
    if not text then
      -- MGET does not tell what is missing from what is of another type, and MSET would replace it.
      local alone = pcall('GET', KEYS[from + number - 1])
      if type(alone) == 'table' then wrong[number] = alone.err end
    end
    local grant = text and match(text, '^%d+$') and tonumber(text) or (text and math.huge or 0)
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
  local fences, written = {}, {}
  for number in pairs(risen) do
    local grant = last[number]
    -- Most of them are the same, the time.
    written[grant] = written[grant] or format('%.0f', grant)
    fences[#fences + 1] = KEYS[fences_from + number - 1]
    fences[#fences + 1] = written[grant]
  end
  return #fences > 0 and pcall('MSET', unpack(fences)).err or nil
end
