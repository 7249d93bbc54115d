-- What a test looks at from the outside.

-- How many commands were run, when the first wait ends, microseconds, and how many connections there are.
function host.look()
  local soonest, count = math.huge, 0
  for _, wait in ipairs(waits) do soonest = math.min(soonest, wait.ends_us) end
  for _ in pairs(connections) do count = count + 1 end
  return { tostring(command_count), number_text(soonest), tostring(count) }
end

local function queues()
  local found, seen = {}, {}
  for _, name in ipairs(names()) do
    local base = string.match(name, '^[^:]+:{[^}]+}:')
    if base and not seen[base] and string.sub(base, -1) == ':' then
      seen[base] = true
      found[#found + 1] = base
    end
  end
  return found
end

-- Sets of what is to be done at a time, Redis milliseconds.
local due_sets = { 'scheduled', 'retries', 'later', 'ticks' }

local function due_between(base, from, to)
  local found = {}
  for _, name in ipairs(due_sets) do
    if kind_of(base .. name) == 'zset' then
      for _, each in ipairs(between(get(base .. name, 'zset'), from, to)) do found[#found + 1] = each.score end
    end
  end
  return found
end

-- When the next job or schedule is due behind now, Redis milliseconds.
function host.due()
  local soonest = math.huge
  for _, base in ipairs(queues()) do
    for _, score in ipairs(due_between(base, '(' .. number_text(now_ms()), '+inf')) do soonest = math.min(soonest, score) end
  end
  return { number_text(soonest) }
end

-- What is to be run now and has not ended: the key that it lies in, and how much.
function host.left()
  local left = {}
  local function note(name, count)
    if count == 0 then return end
    left[#left + 1] = name
    left[#left + 1] = tostring(count)
  end
  for _, base in ipairs(queues()) do
    for _, name in ipairs({ 'calls', 'jobs', 'jobs:high', 'jobs:low' }) do
      if kind_of(base .. name) == 'list' then note(base .. name, #get(base .. name, 'list')) end
    end
    if kind_of(base .. 'keyed') == 'zset' then note(base .. 'keyed', #between(get(base .. 'keyed', 'zset'), '-inf', '(+inf')) end
    note(base .. 'scheduled', #due_between(base, '-inf', number_text(now_ms())))
    for _, name in ipairs(names()) do
      local is_held = string.sub(name, 1, #base + 5) == base .. 'held:'
      if is_held and kind_of(name) == 'hash' then note(name, get(name, 'hash').size) end
    end
  end
  return left
end

-- Leases of workers that died end then, Redis milliseconds.
function host.lapse(ends, ...)
  for _, base in ipairs(queues()) do
    for _, worker in ipairs({ ... }) do
      if kind_of(base .. 'leases') == 'zset' then run_command({ 'zadd', base .. 'leases', 'XX', ends, worker }) end
    end
  end
  return {}
end

-- Of each job that came behind the first so many, but of a hundred at most: its queue, when it was put there, microseconds, and its message.
function host.enqueued(from)
  local first = tonumber(from) * 3
  return slice(enqueued, first + 1, math.min(#enqueued, first + 300))
end

for _, name in ipairs({ 'io', 'os', 'debug', 'package', 'require', 'dofile', 'loadfile', 'print', 'python' }) do _G[name] = nil end

-- All that the host asks: what, when in microseconds, and with what. Texts go in, and texts come out.
return function(verb, at_us, ...)
  now_us = tonumber(at_us)
  return unpack(host[verb](...))
end
