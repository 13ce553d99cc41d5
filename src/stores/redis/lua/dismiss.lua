-- Takes a process off the lists of those that wait.
--
-- KEYS    the records
-- ARGV 1  the id of the process

local texts = read(#KEYS)

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
