-- What lies in Redis for ever although nobody owns it: no waiting, held or dead job, schedule, batch or worker. Tests of all languages ask
-- after each test, when their hubs and workers have gone. ARGV[1]: the namespace. Returns { what is wrong, ... }, each beginning with its key.
local prefix, wrong = ARGV[1] .. ':', {}
local shared = { tasks = 1, workers = 1, stats = 1, taskstats = 1, slow = 1, failures = 1, queues = 1, refusing = 1 }
-- What is there as long as somebody wants it.
local own = { calls = 1, jobs = 1, ['jobs:high'] = 1, ['jobs:low'] = 1, scheduled = 1, retries = 1, dead = 1, leases = 1, cron = 1, paused = 1,
  shards = 1, moving = 1, scores = 1 }

local function read(...)
  local answer = redis.pcall(...)
  return type(answer) == 'table' and answer.err and {} or answer
end
local function count(answer) return type(answer) == 'number' and answer or 0 end
local function fields(key)
  local flat, found = read('HGETALL', key), {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end

local keys, by_queue = redis.call('KEYS', (string.gsub(prefix, '[%[%]%*%?\\]', '\\%0')) .. '*'), {}
for _, key in ipairs(keys) do
  local queue, name = string.match(key, '^{(.-)}:(.*)$', #prefix + 1)
  if queue then
    by_queue[queue] = by_queue[queue] or {}
    by_queue[queue][name] = key
  end
end

-- All jobs that are somewhere, by queue and id, and the batches that wait for them.
local there, batches = {}, {}
local function lies(queue, text)
  local id = string.match(text, '"id":"([%w_-]+)"')
  if id then there[queue .. ' ' .. id] = true end
  local batch = string.match(text, '"batch":"([^"]+)"')
  if batch then batches[batch] = true end
  local queue_of, tallied = string.match(text, '^(%S+) tally (%S+)')
  if tallied then batches[queue_of .. '/' .. tallied] = true end
end
for queue, names in pairs(by_queue) do
  for name, key in pairs(names) do
    local kind = string.match(name, '^%a+')
    if kind == 'jobs' or kind == 'line' then for _, text in ipairs(read('LRANGE', key, 0, -1)) do lies(queue, text) end end
    if name == 'scheduled' or name == 'retries' then for _, text in ipairs(read('ZRANGE', key, 0, -1)) do lies(queue, text) end end
    if kind == 'held' then
      for held, text in pairs(fields(key)) do
        local out = string.match(held, '^out:([^:]+):')
        lies(queue, out and out .. ' ' .. text or text)
      end
    end
    if kind == 'job' then for field in pairs(fields(key)) do batches[string.match(field, '^batch:(.+)$') or ''] = true end end
  end
end

local function say(key, why) wrong[#wrong + 1] = key .. ' ' .. why end

local function check(queue, names, name, key)
  local function at(other) return prefix .. '{' .. queue .. '}:' .. other end
  local function has(task, keyed) return names['line:' .. task .. ':' .. keyed] or names['merged:' .. task .. ':' .. keyed] end
  local function runs(task, keyed) return count(read('HEXISTS', at('running:' .. task), keyed)) == 1 end
  local kind, rest = string.match(name, '^(%a+):?(.*)$')
  if own[name] then return end
  local checks = {
    held = function() return not read('ZSCORE', at('leases'), rest) and 'no lease' or nil end,
    ticks = function()
      for _, each in ipairs(read('ZRANGE', key, 0, -1)) do
        if count(read('HEXISTS', at('cron'), each)) == 0 then return 'no schedule ' .. each end
      end
    end,
    bell = function() return not (names.calls or names.leases) and 'nothing waits' or nil end,
    jobbell = function()
      return not (names.jobs or names['jobs:high'] or names['jobs:low'] or names.keyed or names.leases) and 'nothing waits' or nil
    end,
    duebell = function() return not (names.scheduled or names.retries or names.later or names.ticks or names.leases) and 'nothing is due' or nil end,
    job = function() return not there[queue .. ' ' .. rest] and 'no such job' or nil end,
    batch = function() return not batches[queue .. '/' .. rest] and 'no job of it' or nil end,
    ended = function() return not names['batch:' .. rest] and 'no such batch' or nil end,
    line = function()
      -- A task that leaves the hub has no version.
      for _, shape in ipairs({ '^([^:]+):(.*)$', '^([^:]+:[^:]+):(.*)$' }) do
        local task, keyed = string.match(rest, shape)
        if task and (runs(task, keyed) or read('ZSCORE', at('later'), task .. ' ' .. keyed) or read('ZSCORE', at('keys:' .. task), keyed)) then return end
      end
      return 'a key that nobody looks for'
    end,
    keys = function()
      for _, each in ipairs(read('ZRANGE', key, 0, -1)) do if not has(rest, each) then return 'nothing waits of ' .. each end end
    end,
    later = function()
      for _, each in ipairs(read('ZRANGE', key, 0, -1)) do
        if not has(string.match(each, '^(%S*) (.*)$')) then return 'nothing waits of ' .. each end
      end
    end,
    running = function()
      for each, value in pairs(fields(key)) do
        local worker, id = string.match(value, '^%d+ (%S+) (%S+)$')
        local held = worker and at('held:' .. worker)
        if not held or count(read('HEXISTS', held, 'job:' .. id)) + count(read('HEXISTS', held, 'lost:job:' .. id)) == 0 then
          return 'nobody runs ' .. each
        end
      end
    end,
    keyed = function()
      for _, task in ipairs(read('ZRANGE', key, 0, -1)) do
        local is_used = names['running:' .. task]
        for each in pairs(names) do
          if string.find(each, 'line:' .. task .. ':', 1, true) == 1 or string.find(each, 'merged:' .. task .. ':', 1, true) == 1 then is_used = true end
        end
        if not is_used then return 'no key of ' .. task end
      end
    end,
    lined = function()
      for task, said in pairs(fields(key)) do
        local waiting = 0
        for each, list in pairs(names) do
          if string.find(each, 'line:' .. task .. ':', 1, true) == 1 then waiting = waiting + count(read('LLEN', list)) end
          if string.find(each, 'merged:' .. task .. ':', 1, true) == 1 then waiting = waiting + 1 end
        end
        if tonumber(said) ~= waiting then return 'counts ' .. said .. ' of ' .. task .. ' where there are ' .. waiting end
      end
    end,
    tried = function()
      for each in pairs(fields(key)) do
        if not has(rest, each) and not runs(rest, each) then return 'nothing waits of ' .. each end
      end
    end,
    next = function()
      for each in pairs(fields(key)) do if not runs(rest, each) then return 'nothing runs of ' .. each end end
    end,
  }
  checks.merged = checks.line
  if not checks[kind] then return say(key, 'has no end of life') end
  local why = checks[kind]()
  if why then say(key, why) end
end

for _, key in ipairs(keys) do
  if redis.call('PTTL', key) == -1 and not shared[string.sub(key, #prefix + 1)] then
    local queue, name = string.match(key, '^{(.-)}:(.*)$', #prefix + 1)
    if queue then check(queue, by_queue[queue], name, key) else say(key, 'has no end of life') end
  end
end
table.sort(wrong)
return wrong
