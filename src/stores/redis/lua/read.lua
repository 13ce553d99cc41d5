-- Reads records.
--
-- KEYS    the records
-- reply   for each { ms left, the record }, or false if nobody holds it or it is no record

local texts, reply = read(#KEYS), {}

for i, record in ipairs(KEYS) do
  local text = texts[i]
  reply[i] = text and is_held(text) and { call('PTTL', record), text } or false
end

return reply
