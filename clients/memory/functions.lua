-- The library of Redis Functions: the text that a Redis is given, run with what Redis gives to it.

local functions, library = {}, nil

local function word_of(value)
  if type(value) == 'number' then return number_text(value) end
  if type(value) ~= 'string' then fail('ERR Lua redis lib command arguments must be strings or integers') end
  return value
end

local function call(...)
  local words = { ... }
  for place = 1, select('#', ...) do words[place] = word_of(words[place]) end
  return run_command(words)
end

-- An error as Redis answers with it.
local function failure(problem)
  if type(problem) == 'table' and problem.err then return problem end
  return { err = 'ERR ' .. tostring(problem) }
end

local function attempt(run, ...)
  local done, answer = pcall(run, ...)
  if done then return answer end
  return failure(answer)
end

redis = {
  call = call,
  pcall = function(...)
    return attempt(call, ...)
  end,
  error_reply = function(text)
    return { err = text }
  end,
  status_reply = function(text)
    return { ok = text }
  end,
  acl_check_cmd = function()
    return true
  end,
  log = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  register_function = function(name, callback)
    if type(name) == 'table' then name, callback = name.function_name, name.callback end
    functions[name] = callback
  end,
}
cjson = { decode = decode_json, encode = encode_json, null = null }

local function load_library(words)
  local verb = string.lower(words[2] or '')
  if verb == 'flush' then
    functions, library = {}, nil
    return ok
  end
  if verb ~= 'load' then fail("ERR unknown subcommand '" .. tostring(words[2]) .. "'") end
  local text = words[#words]
  local name, body = string.match(text, '^#!lua name=([%w_]+)%s*()\n')
  if not name then fail('ERR Missing library metadata') end
  if library and string.upper(words[3]) ~= 'REPLACE' then fail("ERR Library '" .. name .. "' already exists") end
  local chunk, problem = loadstring(string.sub(text, body), '@user_function')
  if not chunk then fail('ERR Error compiling function: ' .. problem) end
  functions, library = {}, name
  chunk()
  return name
end

-- What was put into Redis as a job, in its order: queue, when in microseconds, and the message.
local enqueued = {}

-- What was refused, or was there already, is none.
local function note_enqueued(keys, args, reply)
  if type(reply) ~= 'table' or reply[2] ~= 0 then return end
  local twins = {}
  for at = 3, #reply, 2 do twins[reply[at]] = true end
  for at = 3, #args do
    if not twins[at - 2] then
      enqueued[#enqueued + 1] = string.match(keys[1], '{([^}]*)}')
      enqueued[#enqueued + 1] = word_of(reply[1])
      enqueued[#enqueued + 1] = args[at]
    end
  end
end

local function run_function(words)
  local name, count = words[2], integer_of(words[3])
  if not functions[name] then fail('ERR Function not found') end
  local keys, args = slice(words, 4, 3 + count), slice(words, 4 + count, #words)
  local reply = functions[name](keys, args)
  if name == 'pshub_1_enqueue' then note_enqueued(keys, args, reply) end
  return reply
end
