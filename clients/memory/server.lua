-- Connections, of which the host moves the bytes: what came on one goes in, what goes out on any comes back.

local connections, last_id = {}, 0
-- Commands that wait for a list, the one that has waited for the longest first.
local waits = {}
local command_count = 0
local outgoing = {}

local info = table.concat({
  'redis_version:7.2.0', 'redis_mode:standalone', 'role:master', 'loading:0', 'aof_enabled:1', 'maxmemory:0',
  'maxmemory_policy:noeviction', 'used_memory:0', '',
}, '\r\n')

local function say(connection, reply)
  encode(reply, connection.out)
  outgoing[connection.id] = connection
end

local function end_wait(wait, reply)
  for place, each in ipairs(waits) do
    if each == wait then table.remove(waits, place) end
  end
  wait.connection.wait = nil
  say(wait.connection, reply)
end

local function answer_client(connection, words)
  local verb = string.lower(words[2] or '')
  if verb == 'id' then return connection.id end
  if verb ~= 'unblock' then return ok end
  local other = connections[integer_of(words[3])]
  if not other or not other.wait then return 0 end
  end_wait(other.wait, false)
  return 1
end

local direct = {
  fcall = run_function,
  ['function'] = load_library,
  info = function() return info end,
  ping = function() return { ok = 'PONG' } end,
  auth = function() return ok end,
  select = function() return ok end,
  -- There are no replicas, and none are waited for.
  wait = function() return 0 end,
  cluster = function() fail('ERR This instance has cluster support disabled') end,
}

-- The answer, or nothing when it is waited for.
local function execute(connection, words)
  command_count = command_count + 1
  local name = string.lower(words[1])
  if name == 'client' then return answer_client(connection, words) end
  if not waiting[name] then return (direct[name] or run_command)(words) end
  local ms = score_of(words[#words], 'ERR timeout is not a float or out of range') * 1000
  local try = waiting[name](slice(words, 2, #words))
  local reply = try()
  if reply then return reply end
  -- 0: for as long as it takes.
  local wait = { connection = connection, try = try, ends_us = ms > 0 and now_us + ms * 1000 or math.huge }
  connection.wait = wait
  waits[#waits + 1] = wait
  return nil
end

-- Something was written: what can go on does.
local function wake()
  local woken
  repeat
    woken = nil
    for _, wait in ipairs(waits) do
      local reply = attempt(wait.try)
      if reply then
        woken = { wait, reply }
        break
      end
    end
    if woken then end_wait(woken[1], woken[2]) end
  until not woken
end

-- Commands of a connection run in their order: behind one that waits the others wait, too.
local function serve_all()
  local moved
  repeat
    moved = false
    for _, connection in pairs(connections) do
      while not connection.wait and connection.commands[connection.next] do
        local words = connection.commands[connection.next]
        connection.commands[connection.next] = nil
        connection.next = connection.next + 1
        local reply = attempt(execute, connection, words)
        if reply ~= nil or not connection.wait then say(connection, reply == nil and false or reply) end
        wake()
        moved = true
      end
    end
  until not moved
end

-- What goes out: the number of a connection, and bytes.
local function flushed()
  local flat = {}
  for id, connection in pairs(outgoing) do
    flat[#flat + 1] = tostring(id)
    flat[#flat + 1] = table.concat(connection.out)
    connection.out = {}
  end
  outgoing = {}
  return flat
end

local host = {}

function host.open()
  last_id = last_id + 1
  connections[last_id] = { id = last_id, rest = '', commands = {}, next = 1, last = 0, out = {} }
  return { tostring(last_id) }
end

function host.close(id)
  local connection = connections[tonumber(id)]
  if not connection then return {} end
  if connection.wait then end_wait(connection.wait, false) end
  connections[connection.id], outgoing[connection.id] = nil, nil
  return {}
end

function host.feed(id, bytes)
  local connection = connections[tonumber(id)]
  if not connection then return {} end
  local text, at = connection.rest .. bytes, 1
  while true do
    local words, next_at = command_at(text, at)
    if not words then break end
    connection.last = connection.last + 1
    connection.commands[connection.last] = words
    at = next_at
  end
  connection.rest = string.sub(text, at)
  serve_all()
  return flushed()
end

-- What has waited for as long as it may ends with nothing.
function host.tick()
  for _, wait in ipairs(slice(waits, 1, #waits)) do
    if wait.ends_us <= now_us and wait.connection.wait == wait then end_wait(wait, false) end
  end
  serve_all()
  return flushed()
end

-- One command from outside of any connection, as redis-cli would run it; who waits for what it wrote is told by the next tick.
function host.command(...)
  local words = { ... }
  local out = {}
  encode(attempt(direct[string.lower(words[1])] or run_command, words), out)
  wake()
  return { table.concat(out) }
end
