-- denied: what the connected user may not do of what a role needs. Redis itself says so: acl_check_cmd runs nothing, needs no
-- right of its own, and leaves no trace in the server's log of denials.
--
-- ARGV[1]  role: a name of `rights`, which is made of the one list of rights
-- ARGV[2]  namespace
-- ARGV[3]  queue
-- flags:   no-writes
-- Returns  { command, key, command, key, ... }: what is denied; the key is empty where the command concerns none
local denied = {}
for _, shape in ipairs(rights[ARGV[1]] or {}) do
  local words, key = {}, ''
  for i, word in ipairs(shape) do
    words[i] = string.gsub(word, '<(%a+)>', { namespace = ARGV[2], queue = ARGV[3] })
    if words[i] ~= word then key = words[i] end
  end
  if not redis.acl_check_cmd(unpack(words)) then
    local has_parts = words[1] == 'CLIENT' or words[1] == 'CLUSTER' or words[1] == 'FUNCTION'
    denied[#denied + 1] = has_parts and words[1] .. '|' .. words[2] or words[1]
    denied[#denied + 1] = key
  end
end
return denied
