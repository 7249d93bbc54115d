-- settle: ends jobs that a worker ran, in the step in which it releases them.
--
-- Used by  worker, 10.11
-- KEYS[1]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[2]  LIST  pshub:{<queue>}:jobs
-- KEYS[3]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  how many dead jobs are kept; the oldest make room
-- ARGV[2]  ms for which dead jobs are kept
-- ARGV[3..]  sixes: held id; the job's leading `at` as it was claimed, or empty; outcome (10.11); ms until it is due again or `0`, or the words for a merged run (10.18); result as JSON (`done`), failure as JSON without its braces (`retry`, `pass`, `dead`), name of the shard (`moved`) or empty; the following job without its `at`, after the name of its queue and a space if that is another queue, or empty
-- flags:   allow-oom
-- Returns  `{how many dead jobs made room, {index, ticket, hub, ...}, {held id, text, ...}}`: whom to notify of which of these jobs, counted from 1; and work for other queues that this worker holds now
--
-- Outcomes: `done`; `retry`, which waits for its time, with a key at the head of its line; `pass`, the same without blocking its key;
-- `putoff`, postponed without having failed: it was not started; `dead`; `expired` and `cancelled`, not run or not to its end; `moved`, it
-- is in another shard of its queue now, which the text names. Of a merged run `done`, or `retry` and words for its keys, in their order:
-- r<ms>, it failed and is retried after that; d<place>, it failed, and its payload of that place, counted from 1, is dead, while the others
-- wait as if new; x<place>, the same of one that is not JSON; b<ms>, it was not run, and comes back after that.
-- Only what this worker still holds is settled, so a second try after a lost answer, or a worker that lost its lease, does nothing. The `at`
-- tells one time of holding a job from the next: each settle that puts it back gives it another one, and the same worker may hold it again
-- before it has heard of that.
-- Its ttl goes on while it waits; a job that expires before its turn ends here.
try_lists(KEYS[2], KEYS[3])
redis.call('HLEN', KEYS[1])
redis.call('ZCARD', beside(KEYS[2], 'retries'))
redis.call('ZCARD', beside(KEYS[2], 'later'))
redis.call('ZCARD', beside(KEYS[2], 'dead'))
local at = now_us_text()
local now = math.floor(at / 1000)
local dropped, told, outs, added, retries, later = 0, {}, {}, {}, {}, {}
local held_back, leaving, runs_leaving, well = false, {}, {}, {}

local function finish(id, message, options, state, ...)
  leaves(leaving, id, message, options)
  tally_of(KEYS[2], KEYS[3], KEYS[1], outs, id, options, state)
  return end_job(KEYS[2], id, options, state, now, ...)
end

-- Its time to be wanted goes on while it waits; what is over before its turn comes ends here.
local function again(id, message, options, delay, state, waiting)
  local due = now + (ms_of(delay) or 0)
  local pushed, ttl = string.match(message, leading)
  local left = ttl ~= '0' and math.floor((pushed + ttl * 1000) / 1000) - due or 0
  if left < 0 or left == 0 and ttl ~= '0' then return finish(id, message, options, 'expired') end
  wait_again(KEYS[2], id, options, 'state', state, 'due', string.format('%d', due))
  local text = string.format('{"at":%d000,"ttl":%d', due, left) .. string.sub(message, (string.find(message, ',"id":"', 1, true)))
  if waiting then
    leaves(leaving, id, message, options)
  else
    if come_back(KEYS[2], id, text, options, due) then
      -- A worker sets its clock by it, unless that is set for an earlier one.
      held_back = true
      return {}
    end
    waiting = retries
  end
  waiting[#waiting + 1] = due
  waiting[#waiting + 1] = text
  return {}
end

local function follow(following)
  local queue, message = string.match(following, '^([%w_.-]+) (.*)$')
  if queue then return send_out(KEYS[1], outs, queue, string.match(message, '"id":"([%w_-]+)"'), message) end
  if following ~= '' then add_job(KEYS[2], at, following, added) end
end

-- A failure with when the try began, as far as there is a record that says it: how long each try took is seen by that alone.
local function with_start(id, options, failure)
  local started = options.keep and redis.pcall('HGET', beside(KEYS[2], 'job:' .. id), 'started')
  if type(started) ~= 'string' or not string.match(started, '^%d+$') then return failure end
  return '"started":' .. started .. ',' .. failure
end

-- A run of merged jobs: done, or what `words` say of each of its keys.
local function settle_run(id, message, task, run, outcome, words, text)
  if outcome ~= 'done' then
    dropped = dropped + end_run(KEYS[2], id, task, run, words, text, now, ARGV[1], ARGV[2])
    held_back = true
    return {}
  end
  local keys = {}
  well[task] = well[task] or {}
  for i, each in ipairs(run) do
    keys[i] = each.key
    well[task][#well[task] + 1] = each.key
  end
  leave_run(runs_leaving, id, task, keys)
  return {}
end

local function settle(id, message, outcome, delay, text, following)
  local options = options_of(message)
  local task, run = run_of(message, options, outcome == 'done')
  if task then return settle_run(id, message, task, run, outcome, delay, text) end
  if outcome == 'moved' then
    leaves(leaving, id, message, options)
    end_job(KEYS[2], id, options, 'moved', now, 'to', text)
    return {}
  end
  local is_back = outcome == 'retry' or outcome == 'pass' or outcome == 'putoff'
  if is_back and is_cancelled(KEYS[2], id, options) then outcome = 'cancelled' end
  if outcome == 'done' then
    follow(following)
    return finish(id, message, options, 'done', 'result', text)
  end
  if outcome == 'putoff' then
    return again(id, with_lead(message, id, now), options, delay, 'scheduled', not options.key and later)
  end
  if outcome ~= 'retry' and outcome ~= 'pass' and outcome ~= 'dead' then return finish(id, message, options, outcome) end
  local failure = with_start(id, options, text)
  local failed = with_failure(message, id, failure, now)
  note_job(KEYS[2], id, options, 'tries', options_of(failed).tries, 'error', string.format('{"at":%d,%s}', now, failure))
  if outcome == 'retry' then return again(id, failed, options, delay, 'retrying', not options.key and retries) end
  if outcome == 'pass' then return again(id, failed, options, delay, 'retrying', retries) end
  dropped = dropped + bury(KEYS[2], failed, now, ARGV[1], ARGV[2])
  return finish(id, message, options, 'dead')
end

for i = 3, #ARGV, 6 do
  local message = redis.call('HGET', KEYS[1], ARGV[i])
  if message and (string.match(message, leading) or '') == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    local waiters = settle(plain_id(ARGV[i]), message, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
    for k = 1, #waiters, 2 do
      told[#told + 1] = (i + 3) / 6
      told[#told + 1] = waiters[k]
      told[#told + 1] = waiters[k + 1]
    end
  end
end
-- Before it is looked whether a task has keys still.
count_step(KEYS[2], added)
for task, keys in pairs(well) do
  for from = 1, #keys, most_words do
    redis.pcall('HDEL', beside(KEYS[2], 'tried:' .. task), unpack(keys, from, math.min(from + most_words - 1, #keys)))
  end
end
leave_lines(KEYS[2], leaving)
leave_lines(KEYS[2], runs_leaving, true)
arrive(KEYS[2], KEYS[3], added)
if later[1] then postpone(KEYS[2], 'scheduled', later) end
if retries[1] then postpone(KEYS[2], 'retries', retries) end
if held_back then ring_due(KEYS[2]) end
if keys_due(KEYS[2]) > 0 then ring(KEYS[3]) end
return { dropped, told, outs }
