-- key: acts on one key: runs it now, skips the job or payload it is stuck at, deletes its payloads or one job, or shows whether it has jobs.
--
-- Used by  caller, 10.17
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  task
-- ARGV[2]  key; for `drop` of a job without a key, empty
-- ARGV[3]  `run`: the key is due now; `skip`: its first job, or its payload with the lowest score, is dead and the rest is due now; `delete`: its payloads are deleted; `drop`: one job of its line or list is deleted; `has`: nothing is changed
-- ARGV[4]  how many dead jobs are kept; for `has` the epoch of the queue's shards as the caller knows it; for `drop` the job exactly as it is in its line or list
-- ARGV[5]  ms for which dead jobs are kept
-- ARGV[6]  for `skip` the id of the job or the score of the payload that is meant, or empty for the first one
-- Returns  how many jobs or payloads were affected; for `has` `1` if a job of the key waits or runs, else `0`. `-1`: cannot skip, because the key runs. `-2`: a batch of another queue waits for the first job. `-3`: another epoch. `-4`: another job or payload than the named one is first
--
-- A running job goes on. Whoever waits for a skipped job finds that by looking again.
local jobs, task, key = KEYS[1], ARGV[1], ARGV[2]
try_lists(jobs, KEYS[2])
redis.call('ZCARD', beside(jobs, 'dead'))
local now = now_ms()
local line, set = line_of(jobs, task, key), merged_of(jobs, task, key)
local running = beside(jobs, 'running:' .. task)
local is_running = redis.pcall('HEXISTS', running, key) == 1

if ARGV[3] == 'has' and epoch_of(shards_of(jobs)) ~= tonumber(ARGV[4]) then return -3 end
if ARGV[3] == 'has' then return (is_running or redis.pcall('EXISTS', line) == 1) and 1 or 0 end

-- It waits for its time no more.
local function due_now()
  redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
  if is_running then return end
  redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. key)
  if has_merged(jobs, task, key) or redis.pcall('EXISTS', line) == 1 then
    stand(jobs, task, key, now * 1000)
    ring(KEYS[2])
  else
    redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)
  end
  note_first(jobs, task)
end

local named = ARGV[6] or ''
local failure = '"code":"Skipped","message":"It was skipped by hand"'

-- The first job of a line.
local function skip_job(message)
  local whole = with_lead(message, 'hand-' .. now_us_text(), now)
  local id, options = select(3, string.match(whole, leading)), options_of(whole)
  if named ~= '' and named ~= id then return -4 end
  local here, elsewhere = batches_of(jobs, id, options)
  if elsewhere[1] then return -2 end
  redis.call('LPOP', line)
  count_lined(jobs, task, -1)
  local failed = with_failure(whole, id, failure, now)
  bury(jobs, failed, now, ARGV[4], ARGV[5])
  for _, batch in ipairs(here) do tally(jobs, KEYS[2], batch, id, 'dead') end
  note_job(jobs, id, options, 'tries', options_of(failed).tries, 'error', string.format('{"at":%d,%s}', now, failure))
  end_job(jobs, id, options, 'dead', now)
  return 1
end

-- The payload with the lowest score.
local function skip_payload()
  local first = named ~= '' and redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES') or {}
  if named ~= '' and tonumber(first[2]) ~= tonumber(named) then return -4 end
  local popped = redis.pcall('ZPOPMIN', set, 1)
  if popped.err or not popped[1] then return 0 end
  if not has_merged(jobs, task, key) then count_lined(jobs, task, -1) end
  -- What is no JSON is kept as a text, and an infinite score, which only somebody else can have given, as none.
  local payload = pcall(cjson.decode, popped[1]) and popped[1] or cjson.encode(popped[1])
  local each = { key = key, payloads = { payload }, scores = { score_text(popped[2]) } }
  local tried = tried_again(jobs, task, key, failure, now)
  bury(jobs, payload_dead('m-' .. now_us_text() .. '-1', task, each, 1, tried, now), now, ARGV[4], ARGV[5])
  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), key)
  return 1
end

local function skip()
  if is_running then return -1 end
  local head = redis.pcall('LINDEX', line, 0)
  return type(head) == 'string' and skip_job(head) or type(head) ~= 'string' and skip_payload()
end

-- The payloads go. A line stays as it is, and due as it was; a key of which nothing waits any more stands nowhere.
local function delete()
  local count, lined = redis.pcall('ZCARD', set), redis.pcall('LLEN', line)
  count = type(count) == 'number' and count or 0
  if count > 0 then
    redis.call('UNLINK', set)
    count_lined(jobs, task, -1)
    redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
    if not is_running then redis.pcall('HDEL', beside(jobs, 'tried:' .. task), key) end
  end
  if not is_running and lined == 0 then
    redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. key)
    redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)
  end
  note_first(jobs, task)
  return count
end

local function drop()
  local from = key == '' and list_of(jobs, ARGV[4]) or line
  local is_head = key ~= '' and redis.pcall('LINDEX', from, 0) == ARGV[4]
  if redis.pcall('LREM', from, 1, ARGV[4]) ~= 1 then return 0 end
  if key ~= '' and is_head then leave_head(jobs, task, key) end
  if key ~= '' and not is_head then count_lined(jobs, task, -1) end
  return 1
end

local acts = {
  skip = skip,
  drop = drop,
  delete = delete,
  run = function()
    local lined = redis.pcall('LLEN', line)
    local merged = redis.pcall('ZCARD', set)
    return (type(lined) == 'number' and lined or 0) + (type(merged) == 'number' and merged or 0)
  end,
}
local count = acts[ARGV[3]]()
if count >= 0 and ARGV[3] ~= 'delete' and ARGV[3] ~= 'drop' then due_now() end
ring_for_jobs(jobs, KEYS[2])
return count
