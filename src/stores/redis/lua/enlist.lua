-- Puts a process among those that wait for keys. Only where somebody holds the key: the others may be asked for now.
--
-- KEYS    the records
-- ARGV 1  the id of the process, or '' to look only
-- reply   for each 1 if somebody holds the key, else 0

local texts, reply = read(#KEYS), {}

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
