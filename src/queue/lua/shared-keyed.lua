-- Jobs with a key, as several functions use them; shared-jobs.lua comes before it. Those of one task and key run one after the other,
-- in the order in which they were enqueued, whoever runs them.
--
--   line:<task>:<key>  LIST  its jobs that wait
--   keys:<task>        ZSET  key -> when it is due (us): each that has jobs in its line, and none that runs
--   running:<task>     HASH  key -> <fence> <worker> <job id>: each of which one runs
--   keyed              ZSET  task -> when the first of its keys is due (us), +inf while all of them run; none that has no keys
--   lined              HASH  task -> how many jobs its lines have
--   fence              STRING  the last token that was given, for a minute
--
-- A key is in at most one of `keys` and `running`: so one job of it runs at a time, however many workers there are, and no worker owns
-- keys. Somebody else's keys in these places cost those jobs their order at most: pcall, and what is no such thing counts as empty.

local function line_of(jobs, task, key)
  return beside(jobs, 'line:' .. task .. ':' .. key)
end

-- Key and task of a job; nil for one without a key.
local function key_of(message, options)
  if type(options.key) ~= 'string' then return nil end
  local task = string.match(message, '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":%b{},"task":"([^"]*)"')
  return task and options.key, task
end

-- Tasks that have keys.
local function keyed_tasks(jobs)
  local tasks = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, 99)
  return tasks.err and {} or tasks
end

-- Counts what comes into the lines of a task, and what leaves them.
local function count_lined(jobs, task, by)
  redis.pcall('HINCRBY', beside(jobs, 'lined'), task, by)
end

-- Notes when the first key of a task is due. Where there is none, and none runs, there is nothing in its lines.
local function note_first(jobs, task)
  local index = beside(jobs, 'keyed')
  local first = redis.pcall('ZRANGE', beside(jobs, 'keys:' .. task), 0, 0, 'WITHSCORES')[2]
  if not first and redis.pcall('EXISTS', beside(jobs, 'running:' .. task)) == 1 then first = '+inf' end
  if first then return redis.pcall('ZADD', index, first, task) end
  redis.pcall('ZREM', index, task)
  redis.pcall('HDEL', beside(jobs, 'lined'), task)
end

-- The task whose key has been due for the longest, and since when; nil when none is due. `now`: us, as text.
local function first_keyed(jobs, now)
  local first = redis.pcall('ZRANGEBYSCORE', beside(jobs, 'keyed'), '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1)
  return first[1], tonumber(first[2])
end

-- When the next key is due that is not due yet (us); nil when there is none.
local function next_key_due(jobs)
  local next
  for _, task in ipairs(keyed_tasks(jobs)) do
    local keys = beside(jobs, 'keys:' .. task)
    local found = redis.pcall('ZRANGEBYSCORE', keys, '(' .. now_us_text(), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local due = tonumber(found[2])
    if due and due < 1e19 and (not next or due < next) then next = due end
  end
  return next
end

-- How many jobs there are in all lines.
local function jobs_lined(jobs)
  local counts, count = redis.pcall('HVALS', beside(jobs, 'lined')), 0
  for i = 1, counts.err and 0 or #counts do count = count + math.max(0, tonumber(counts[i]) or 0) end
  return count
end

-- How many keys are due.
local function keys_due(jobs)
  local count = 0
  for _, task in ipairs(keyed_tasks(jobs)) do
    local due = redis.pcall('ZCOUNT', beside(jobs, 'keys:' .. task), '-inf', now_us_text())
    if type(due) == 'number' then count = count + due end
  end
  return count
end

-- Puts a job at the end of its line. False where that cannot be, because something else has its name.
local function line_up(jobs, task, key, text, due)
  local since = string.format('%.0f', due)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) ~= 1 then
    local added = redis.pcall('ZADD', beside(jobs, 'keys:' .. task), 'NX', since, key)
    if type(added) ~= 'number' then return false end
    if added == 1 then redis.pcall('ZADD', beside(jobs, 'keyed'), 'LT', since, task) end
  end
  -- A key without a line goes as soon as somebody takes it.
  if type(redis.pcall('RPUSH', line_of(jobs, task, key), text)) ~= 'number' then return false end
  count_lined(jobs, task, 1)
  return true
end

-- Whether a key runs for another job: that of this one was taken for lost.
local function runs_for_another(jobs, task, key, id)
  local holder = redis.pcall('HGET', beside(jobs, 'running:' .. task), key)
  return type(holder) == 'string' and string.match(holder, '[%w_-]*$') ~= id
end

-- A key of which none runs any more. Its next job is due when that says so, and not before those of all keys that are due by now.
local function free_key(jobs, task, key)
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), key)
  local head = redis.pcall('LINDEX', line_of(jobs, task, key), 0)
  if type(head) == 'string' then
    local at = tonumber(string.match(head, '^{"at":(%d+)')) or 0
    redis.pcall('ZADD', beside(jobs, 'keys:' .. task), string.format('%.0f', math.max(at, tonumber(now_us_text()))), key)
  end
  note_first(jobs, task)
end

-- Puts a job that was taken back to the head of its line. False for one that has no key, or no line any more.
local function come_back(jobs, id, message, options, due)
  local key, task = key_of(message, options)
  if not key or type(redis.pcall('LPUSH', line_of(jobs, task, key), message)) ~= 'number' then return false end
  count_lined(jobs, task, 1)
  if runs_for_another(jobs, task, key, id) then return true end
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), key)
  redis.pcall('ZADD', beside(jobs, 'keys:' .. task), string.format('%.0f', due), key)
  note_first(jobs, task)
  return true
end

-- A job with a key has come to its end, or lets others pass.
local function leave_line(jobs, id, message, options)
  local key, task = key_of(message, options)
  if key and not runs_for_another(jobs, task, key, id) then free_key(jobs, task, key) end
end

-- Takes the first job of the key of a task that has been due for the longest. Returns key and job; nil where there was none after all.
local function take_key(jobs, task)
  local key = redis.pcall('ZPOPMIN', beside(jobs, 'keys:' .. task))[1]
  local message = key and redis.pcall('LPOP', line_of(jobs, task, key))
  if type(message) == 'string' then
    count_lined(jobs, task, -1)
    return key, message
  end
  note_first(jobs, task)
end

-- For so long the last token is known, should the clock be set back, or that of another server be behind.
local fence_memory = 60000

-- A key is running. Returns its token: higher than all before it, of any key.
local function run_key(jobs, task, key, worker, id)
  local last = redis.pcall('GET', beside(jobs, 'fence'))
  last = type(last) == 'string' and tonumber(last) or 0
  local fence = string.format('%.0f', math.max(tonumber(now_us_text()), last + 1))
  redis.pcall('SET', beside(jobs, 'fence'), fence, 'PX', fence_memory)
  redis.pcall('HSET', beside(jobs, 'running:' .. task), key, fence .. ' ' .. worker .. ' ' .. id)
  note_first(jobs, task)
  return fence
end

-- Keys that run for longer than this are looked after: their job may have gone without a word.
local checked_after = 5000000

-- Frees keys that run in nobody's hands: what was held is no message, or somebody deleted it. Returns how many.
local function free_orphans(jobs)
  local freed, now = 0, tonumber(now_us_text())
  for _, task in ipairs(keyed_tasks(jobs)) do
    local running = redis.pcall('HGETALL', beside(jobs, 'running:' .. task))
    for i = 1, running.err and 0 or #running, 2 do
      local fence, worker, id = string.match(running[i + 1], '^(%d+) ([%w_-]+) ([%w_-]+)$')
      local held = fence and beside(jobs, 'held:' .. worker)
      local is_held = fence and (redis.pcall('HEXISTS', held, 'job:' .. id) == 1 or redis.pcall('HEXISTS', held, 'lost:job:' .. id) == 1)
      if not is_held and (not fence or tonumber(fence) + checked_after < now) then
        free_key(jobs, task, running[i])
        freed = freed + 1
      end
    end
  end
  return freed
end
