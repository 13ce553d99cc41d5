-- Comes first in the script that gives back: keys of their owners that nobody waits for, see acquire_plain.lua. If one of them
-- is otherwise, all are left to the rest of the script.

if #KEYS > 0 and #KEYS <= 4000 then
  local texts, reply = redis.call('MGET', unpack(KEYS)), {}
  for owner in string.gmatch(ARGV[3], '[^\n]+') do
    local text = texts[#reply + 1]
    if not text or string.sub(text, 1, #owner) ~= owner or string.find(text, ',"wa', 1, true) then break end
    reply[#reply + 1] = 1
  end
  if #reply == #KEYS then
    redis.call('DEL', unpack(KEYS))
    return reply
  end
end
