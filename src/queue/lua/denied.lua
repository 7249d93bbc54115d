-- denied: reports what the connected user may not do of what a role needs (14.3).
--
-- Used by  caller and worker, 14.3
-- ARGV[1]  role: `hub`, `jobs`, `worker`, `view`, `admin`, `registry` or `install`
-- ARGV[2]  namespace
-- ARGV[3]  queue
-- flags:   no-writes
-- Returns  `{command, key, ...}`; the key is empty if the command concerns none
--
-- acl_check_cmd runs nothing, needs no right of its own, and leaves no trace in the server's log of denials.
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
