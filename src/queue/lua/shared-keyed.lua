-- Jobs with a key, as several functions use them; shared-jobs.lua comes before it. Those of one task and key run one after the other,
-- in the order in which they were enqueued, whoever runs them.
--
--   line:<task>:<key>  LIST  its jobs that wait
--   keys:<task>        ZSET  key -> since when it is due (us): each that has jobs, none that runs, and nothing to wait for
--   later              ZSET  <task> <key> -> when it is due (ms): the same, where its first job waits for its time
--   running:<task>     HASH  key -> <fence> <worker> <job id>: each of which one runs
--   keyed              ZSET  task -> since when the first of its keys is due (us), +inf where none is: each that has jobs in lines, or runs one
--   lined              HASH  task -> how many jobs its lines have
--   fence              STRING  the last token that was given, for a minute
--
-- A key is in one of `keys`, `later` and `running` at most: so one job of it runs at a time, however many workers there are, and no worker
-- owns keys. What is in `keys` is taken whatever the clock says, which may have been set back. Somebody else's keys in these places cost
-- those jobs their order at most: pcall, and what is no such thing counts as empty.

local function line_of(jobs, task, key)
  return beside(jobs, 'line:' .. task .. ':' .. key)
end

-- What waits of a key in its set, where its task merges them; shared-merged.lua says what that is.
local function merged_of(jobs, task, key)
  return beside(jobs, 'merged:' .. task .. ':' .. key)
end
local function has_merged(jobs, task, key)
  return redis.call('EXISTS', merged_of(jobs, task, key)) == 1
end

-- Key and task of a job; nil for one without a key.
local function key_of(message, options)
  if type(options.key) ~= 'string' then return nil end
  local task = string.match(message, '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":%b{},"task":"([^" ]*)"')
  return task and options.key, task
end

-- Counts what comes into the lines of a task, and what leaves them.
local function count_lined(jobs, task, by)
  redis.pcall('HINCRBY', beside(jobs, 'lined'), task, by)
end

-- How many jobs there are in all lines.
local function jobs_lined(jobs)
  local counts, count = redis.pcall('HVALS', beside(jobs, 'lined')), 0
  for i = 1, counts.err and 0 or #counts do count = count + math.max(0, tonumber(counts[i]) or 0) end
  return count
end

-- Notes since when the first key of a task is due.
local function note_first(jobs, task)
  local index, lined = beside(jobs, 'keyed'), beside(jobs, 'lined')
  local first = redis.pcall('ZRANGE', beside(jobs, 'keys:' .. task), 0, 0, 'WITHSCORES')[2]
  if not first then
    local count = redis.pcall('HGET', lined, task)
    local is_empty = type(count) ~= 'string' or (tonumber(count) or 0) <= 0
    if is_empty and redis.pcall('EXISTS', beside(jobs, 'running:' .. task)) == 0 then
      redis.pcall('ZREM', index, task)
      redis.pcall('HDEL', lined, task)
      return
    end
  end
  redis.pcall('ZADD', index, first or '+inf', task)
end

-- The task whose key has been due for the longest, since when (us), and whether keys of others are due; nil when none is.
local function first_keyed(jobs)
  local first = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, 1, 'WITHSCORES')
  local since, other = tonumber(first[2]), tonumber(first[4])
  if since and since < 1e19 then return first[1], since, other ~= nil and other < 1e19 end
end

-- How many keys are due.
local function keys_due(jobs)
  local count, tasks = 0, redis.pcall('ZRANGE', beside(jobs, 'keyed'), '-inf', '(+inf', 'BYSCORE')
  for i = 1, tasks.err and 0 or #tasks do
    local due = redis.pcall('ZCARD', beside(jobs, 'keys:' .. tasks[i]))
    if type(due) == 'number' then count = count + due end
  end
  return count
end

-- What a step that brings many jobs notes of a task is written once: `step`, a table of that step, remembers it. Without one it is written now.
local function of_step(step, task)
  step.tasks = step.tasks or {}
  step.tasks[task] = step.tasks[task] or { count = 0 }
  return step.tasks[task]
end

-- Notes that a key of a task is due since then.
local function note_task(jobs, task, since, step)
  local known = step and of_step(step, task)
  if known and known.since and known.since <= since then return end
  if known then known.since = since end
  redis.pcall('ZADD', beside(jobs, 'keyed'), 'LT', string.format('%.0f', since), task)
end

-- Counts one more of what waits of a task's keys.
local function count_come(jobs, task, step)
  local known = step and of_step(step, task)
  if not known or known.count == 0 then redis.pcall('ZADD', beside(jobs, 'keyed'), 'NX', '+inf', task) end
  if known then known.count = known.count + 1 else count_lined(jobs, task, 1) end
end

-- Writes what a step has counted.
local function count_step(jobs, step)
  for task, known in pairs(step.tasks or {}) do
    if known.count > 0 then count_lined(jobs, task, known.count) end
    known.count = 0
  end
end

-- A key of which none runs can be taken from now on, or when its first job is due (ms), unless something else is known of it already.
-- Returns false where something else has the name of that; and whether nothing was known of it.
local function stand(jobs, task, key, since, due, step)
  local keys, later = beside(jobs, 'keys:' .. task), beside(jobs, 'later')
  local member = task .. ' ' .. key
  if due then
    if type(redis.pcall('ZSCORE', keys, key)) == 'string' then return true end
    local added = redis.pcall('ZADD', later, 'NX', string.format('%.0f', due), member)
    return type(added) == 'number', added == 1
  end
  if type(redis.pcall('ZSCORE', later, member)) == 'string' then return true end
  local added = redis.pcall('ZADD', keys, 'NX', string.format('%.0f', since), key)
  if added == 1 then note_task(jobs, task, since, step) end
  return type(added) == 'number', added == 1
end

-- Puts a job at the end of its line. `due`: when (ms), of one whose time is still to come. False where that cannot be, because something
-- else has one of these names.
local function line_up(jobs, task, key, text, since, due, step)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) ~= 1 and not stand(jobs, task, key, since, due, step) then return false end
  -- A key without a line goes as soon as somebody takes it.
  if type(redis.pcall('RPUSH', line_of(jobs, task, key), text)) ~= 'number' then return false end
  count_come(jobs, task, step)
  return true
end

-- Whether a key runs for another job: that of this one was taken for lost.
local function is_another(holder, id)
  return type(holder) == 'string' and string.sub(holder, -#id - 1) ~= ' ' .. id
end

-- Lua hands no more than 8000 words to a command.
local most_words = 4000

-- Keys of a task of which none runs any more. The next job of each is due when that says so, and behind those of all keys that are due by now.
local function free_keys(jobs, task, freed, is_run)
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), unpack(freed))
  local now, due = tonumber(now_us_text()), {}
  for _, key in ipairs(freed) do
    -- Nothing waits of most keys whose payloads have just been run.
    local is_empty = is_run and redis.call('EXISTS', line_of(jobs, task, key), merged_of(jobs, task, key)) == 0
    local head = not is_empty and redis.pcall('LINDEX', line_of(jobs, task, key), 0)
    if type(head) == 'string' then
      local at = tonumber(string.match(head, '^{"at":(%d+)')) or 0
      local options = at > now and options_of(head) or {}
      -- What came before the clock was set back has to wait for nothing.
      if options.due or options.delay or options.tries then
        stand(jobs, task, key, now, math.ceil(at / 1000))
        ring_due(jobs)
      else
        due[#due + 1] = string.format('%.0f', now)
        due[#due + 1] = key
      end
    else
      if not is_empty and has_merged(jobs, task, key) then
        local at = tonumber(redis.pcall('HGET', beside(jobs, 'next:' .. task), key) or nil)
        redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
        stand(jobs, task, key, now, at and at * 1000 > now and at or nil)
        if at then ring_due(jobs) end
      end
    end
  end
  if due[1] then redis.pcall('ZADD', beside(jobs, 'keys:' .. task), 'NX', unpack(due)) end
  note_first(jobs, task)
end

-- The first job of a key is not in its line any more, and was not taken either: the next one is due when that says so.
local function leave_head(jobs, task, key)
  count_lined(jobs, task, -1)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) == 1 then return end
  redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. key)
  redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)
  free_keys(jobs, task, { key })
end

-- Jobs with keys have come to their ends, or let others pass: by task, { id, key, id, key, ... }. Some after the other: see `most_words`.
local function leave_lines(jobs, leaving, is_run)
  for task, pairs_of in pairs(leaving) do
    for from = 0, #pairs_of - 1, most_words do
      local keys, freed = {}, {}
      for i = from + 2, math.min(from + most_words, #pairs_of), 2 do keys[#keys + 1] = pairs_of[i] end
      local holders = redis.pcall('HMGET', beside(jobs, 'running:' .. task), unpack(keys))
      for i = 1, #keys do
        if holders.err or not is_another(holders[i], pairs_of[from + i * 2 - 1]) then freed[#freed + 1] = keys[i] end
      end
      if freed[1] then free_keys(jobs, task, freed, is_run) end
    end
  end
end

-- Notes that one of them has.
local function leaves(leaving, id, message, options)
  local key, task = key_of(message, options)
  if not key then return end
  local of_task = leaving[task] or {}
  of_task[#of_task + 1] = id
  of_task[#of_task + 1] = key
  leaving[task] = of_task
end

-- Puts a job that was taken back to the head of its line, where it is due as before, or at a time (ms). False for one that has no key, or
-- no line any more.
local function come_back(jobs, id, message, options, due)
  local key, task = key_of(message, options)
  if not key or type(redis.pcall('LPUSH', line_of(jobs, task, key), message)) ~= 'number' then return false end
  count_lined(jobs, task, 1)
  if is_another(redis.pcall('HGET', beside(jobs, 'running:' .. task), key), id) then return true end
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), key)
  stand(jobs, task, key, tonumber(string.match(message, '^{"at":(%d+)')), due)
  return true
end

-- For so long the last token is known, should the clock be set back, or that of another server be behind.
local fence_memory = 60000

-- A token for each of some runs: the first one of so many that follow each other, all higher than those before them, of any key.
local function next_fence(jobs, count)
  local last = redis.pcall('GET', beside(jobs, 'fence'))
  last = type(last) == 'string' and tonumber(last) or 0
  -- Behind such a number none can be told from the next: it is somebody else's.
  if not (last < 9e15) then last = 0 end
  local first = math.max(tonumber(now_us_text()), last + 1)
  redis.pcall('SET', beside(jobs, 'fence'), string.format('%.0f', first + count - 1), 'PX', fence_memory)
  return first
end

-- Keys whose time has come, as many as are wanted. Returns how many these were.
local function stand_due(jobs, most)
  local later = beside(jobs, 'later')
  local found = redis.pcall('ZRANGEBYSCORE', later, '-inf', string.format('%d', now_ms()), 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, found.err and 0 or #found, 2 do
    redis.call('ZREM', later, found[i])
    local task, key = string.match(found[i], '^(%S*) (.*)$')
    if task and redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) ~= 1 then stand(jobs, task, key, found[i + 1] * 1000) end
  end
  return found.err and 0 or #found / 2
end

-- Keys that run for longer than this are looked after: their job may have gone without a word.
local checked_after = 5000000

-- Frees keys that run in nobody's hands: what was held is no message, or somebody deleted it. Returns how many.
local function free_orphans(jobs)
  local freed, before = 0, tonumber(now_us_text()) - checked_after
  local tasks = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, -1)
  for _, task in ipairs(tasks.err and {} or tasks) do
    local running = redis.pcall('HGETALL', beside(jobs, 'running:' .. task))
    for i = 1, running.err and 0 or #running, 2 do
      local fence, worker, id = string.match(running[i + 1], '^(%d+) ([%w_-]+) ([%w_-]+)$')
      local is_held = false
      if fence then
        local held = beside(jobs, 'held:' .. worker)
        -- A token of the future is one of before the clock was set back.
        local is_young = tonumber(fence) > before and tonumber(fence) < before + 2 * checked_after
        is_held = is_young or redis.pcall('HEXISTS', held, 'job:' .. id) == 1 or redis.pcall('HEXISTS', held, 'lost:job:' .. id) == 1
      end
      if not is_held then
        free_keys(jobs, task, { running[i] })
        -- With its payloads how they failed is of no use.
        if not has_merged(jobs, task, running[i]) then redis.pcall('HDEL', beside(jobs, 'tried:' .. task), running[i]) end
        freed = freed + 1
      end
    end
  end
  return freed
end

-- How keys fare: how many wait that are due or whose time is to come, how many run, and since when the one that has run for the longest does (us,
-- as text; empty when none runs). Tokens are times, or follow those closely.
local function key_figures(jobs)
  local waiting, running, first = redis.pcall('ZCARD', beside(jobs, 'later')), 0, nil
  waiting = (type(waiting) == 'number' and waiting or 0) + keys_due(jobs)
  local tasks = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, -1)
  for _, task in ipairs(tasks.err and {} or tasks) do
    local runs = redis.pcall('HVALS', beside(jobs, 'running:' .. task))
    for i = 1, runs.err and 0 or #runs do
      local fence = tonumber(string.match(runs[i], '^%d+'))
      running = running + 1
      if fence and (not first or fence < first) then first = fence end
    end
  end
  return waiting, running, first and string.format('%.0f', first) or ''
end
