-- Prolongs leases of those who still have them, and never shortens one.
--
-- KEYS    the record of each renewal, then the fences of the buckets of those whose number is to change
-- ARGV 1  how many renewals there are
-- ARGV 2  a line for each: which of the fences if its number is to change, else 0, what to raise it to, or 0 to take the
--         next, its lease in ms, how a record of its owner begins
-- reply   for each the grant number, or 0 if it is not this owner's any more; or, as text, what is wrong with the record

local count = tonumber(ARGV[1]) or 0
local texts, raised, reply = read(count), {}, {}
if #KEYS > count then read_fences(count + 1) end

local i = 0
for fence, goal, lease_text, owner in string.gmatch(ARGV[2], '(%d+) (%d+) (%d+) ([^\n]+)') do
  i = i + 1
  local record, text = KEYS[i], texts[i]
  if not text or not is_of(text, owner) then
    reply[i] = problem(record, text) or 0
  else
    local grant, before = numbers_in(text)
    local lease = tonumber(lease_text)
    -- What is left is at most what the record says: so it says what was given last, not what was asked for. First: a server
    -- that is out of memory allows it, and then what follows.
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
