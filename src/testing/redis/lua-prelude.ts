/**
 * What Redis gives to a library of functions, in Lua: `redis`, `cjson`, and nothing of the machine that it runs on. `host` is runCommand.
 * Returned is what runs a function of a library, and what loads one.
 */
export const prelude = `
local host, decode, encode = ...
local functions = {}

redis = {
  call = function(...)
    local reply = host(...)
    if type(reply) == 'table' and reply.err then error(reply, 0) end
    return reply
  end,
  pcall = host,
  error_reply = function(text) return { err = text } end,
  status_reply = function(text) return { ok = text } end,
  acl_check_cmd = function() return true end,
  log = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  register_function = function(name, callback)
    if type(name) == 'table' then name, callback = name.function_name, name.callback end
    functions[name] = callback
  end,
}
cjson = {
  decode = function(text)
    local read = { decode(text) }
    if not read[1] then error(read[2], 0) end
    return read[2]
  end,
  encode = encode,
}
cjson.null = cjson.decode('null')
for _, name in ipairs({ 'io', 'os', 'debug', 'package', 'require', 'dofile', 'loadfile', 'print' }) do _G[name] = nil end

-- Whole numbers have 32 bits in WebAssembly's C, where they have 64 in Redis: a time in milliseconds would be cut.
local format = string.format
string.format = function(pattern, ...)
  local args, at = { ... }, 0
  pattern = string.gsub(pattern, '%%([-+ #0]*%d*%.?%d*)(.)', function(width, kind)
    if kind == '%' then return nil end
    at = at + 1
    if kind ~= 'd' and kind ~= 'i' then return nil end
    local number = tonumber(args[at])
    if not number then return nil end
    args[at] = number < 0 and math.ceil(number) or math.floor(number)
    return '%' .. width .. '.0f'
  end)
  return format(pattern, unpack(args, 1, select('#', ...)))
end

local function failure(problem)
  if type(problem) == 'table' then return problem end
  return { err = 'ERR ' .. tostring(problem) }
end

return function(name, keys, args)
  if not functions[name] then return { err = 'ERR Function not found' } end
  local done, answer = pcall(functions[name], keys, args)
  if done then return answer end
  return failure(answer)
end, function(text)
  local chunk, problem = loadstring(text, '@user_function')
  if not chunk then return { err = 'ERR Error compiling function: ' .. problem } end
  local done, problem = pcall(chunk)
  if not done then return failure(problem) end
  return { ok = 'OK' }
end
`
