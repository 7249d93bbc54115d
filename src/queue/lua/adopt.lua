-- adopt: takes over a bounded part of what a worker held whose lease has ended, and decides what becomes of it.
--
-- Used by  worker, 10.7
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  HASH  pshub:{<queue>}:held:<lost worker>
-- KEYS[3]  HASH  pshub:{<queue>}:held:<this worker>
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  LIST  pshub:{<queue>}:bell
-- KEYS[6]  LIST  pshub:{<queue>}:jobs
-- KEYS[7]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  lost worker's id
-- ARGV[2]  this worker's id
-- ARGV[3]  the most requests to move
-- ARGV[4]  byte limit; one request may exceed it
-- ARGV[5]  how many dead jobs are kept; the oldest make room
-- ARGV[6]  ms for which dead jobs are kept
-- flags:   allow-oom
-- Returns  `{-1}` if the other worker's lease holds or this worker has none; else an array, whose elements 2, 3, 4 and 6 are `{held id, text, ...}`
--   1  `1` if nothing is left there, else `0`
--   2  calls that this worker holds now and must answer
--   3  requests that went back to their lists
--   4  jobs that are dead now
--   5  `{held id, ticket, hub, ...}`: who waits for those dead jobs
--   6  work for other queues that this worker holds now
--
-- Each request may have been started. What may run twice goes back to the head of its list, with one more loss counted in it, until three
-- workers have died holding it. Then a job is dead; and any other call is held by this worker, as lost:<id>, in the same step: a crash at
-- any moment leaves it with one holder, whose lease ends in turn. Only workers can answer it, because replies are not where the queue is.
-- An expired call, and what is no message, is dropped.
-- From the first step on the lost worker's lease is 0, which its own beat cannot renew.
local max_losses = 3
-- So many keys of merged jobs are put back in one step, but for one run that has more.
local max_keys = 200

local now_us = tonumber(now_us_text())
local now = math.floor(now_us / 1000)
local mine = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not mine or tonumber(mine) < now then return { -1 } end
local theirs = redis.call('ZSCORE', KEYS[1], ARGV[1])
if theirs and tonumber(theirs) >= now then return { -1 } end

-- An error of these, which somebody else's keys cause, comes before anything was moved.
redis.call('HLEN', KEYS[3])
redis.call('LLEN', KEYS[4])
redis.call('LLEN', KEYS[5])
redis.call('LLEN', KEYS[6])
redis.call('LLEN', KEYS[7])
try_lists(KEYS[6], KEYS[7])
redis.call('ZCARD', beside(KEYS[6], 'dead'))
-- Somebody else's key under the lost worker's name: then there is nothing to take over, now or later.
local found = redis.pcall('HRANDFIELD', KEYS[2], ARGV[3])
if found.err then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return { 1, {}, {}, {}, {}, {} }
end

local to_answer, back, dead, told, outs = {}, {}, {}, {}, {}
local function note(list, held_id, message)
  list[#list + 1] = held_id
  list[#list + 1] = message
end
local function hold(held_id, message)
  redis.call('HSET', KEYS[3], held_id, message)
  note(to_answer, held_id, message)
end
local function put_back(held_id, message)
  if is_job(held_id) then
    return_job(KEYS[6], plain_id(held_id), message)
    ring(KEYS[7])
  else
    redis.call('LPUSH', KEYS[4], message)
    ring(KEYS[5])
  end
  note(back, held_id, message)
end
local function give_up(held_id, message, losses)
  local id, options = plain_id(held_id), options_of(message)
  local failure = lost_failure(losses)
  local failed = with_failure(message, id, failure, now)
  bury(KEYS[6], failed, now, ARGV[5], ARGV[6])
  local leaving = {}
  leaves(leaving, id, message, options)
  leave_lines(KEYS[6], leaving)
  -- The next one of its key may be due.
  if next(leaving) then ring(KEYS[7]) end
  note_job(KEYS[6], id, options, 'tries', options_of(failed).tries, 'error',
    string.format('{"at":%d,%s}', now, failure))
  note(dead, held_id, failed)
  tally_of(KEYS[6], KEYS[7], KEYS[3], outs, id, options, 'dead')
  local waiters = end_job(KEYS[6], id, options, 'dead', now)
  for i = 1, #waiters, 2 do
    note(told, held_id, waiters[i])
    told[#told + 1] = waiters[i + 1]
  end
end
-- Each key of a run counts by itself how many workers were lost with it.
local function decide_run(held_id, message, task, run)
  local at = tonumber(string.match(message, '^{"at":(%d+)'))
  local given_up = run_lost(KEYS[6], plain_id(held_id), task, run, at, max_losses, now, ARGV[5], ARGV[6])
  for _, each in ipairs(given_up) do note(dead, 'job:' .. string.match(each, '"id":"([%w_-]+)"'), each) end
  if #given_up < #run then note(back, held_id, message) end
  ring(KEYS[7])
end
local function decide(held_id, message)
  local task, run = run_of(message, is_job(held_id) and options_of(message) or {})
  if task then
    decide_run(held_id, message, task, run)
    return #run
  end
  local body, losses = without_mark(message)
  if not body or not is_job(held_id) and is_over(message, now_us) then return end
  losses = losses + 1
  local counted = body .. string.format(',"losses":%d}', math.min(losses, 1000))
  local may = may_repeat(held_id, message)
  if may and losses < max_losses then return put_back(held_id, counted) end
  if is_job(held_id) then return give_up(held_id, counted, losses) end
  hold('lost:' .. held_id, counted)
end

local bytes_left, keys_left = tonumber(ARGV[4]), max_keys
for i = 1, #found do
  if bytes_left <= 0 or keys_left <= 0 then break end
  local message = redis.call('HGET', KEYS[2], found[i])
  redis.call('HDEL', KEYS[2], found[i])
  bytes_left = bytes_left - #message
  -- That of a worker that died before it had answered is decided about.
  if is_out(found[i]) then
    redis.call('HSET', KEYS[3], found[i], message)
    note(outs, found[i], message)
  else
    if is_lost(found[i]) then hold(found[i], message) else keys_left = keys_left - (decide(found[i], message) or 0) end
  end
end
local left = redis.call('HLEN', KEYS[2])
if left > 0 then
  redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
  -- They end by themselves, but not where Redis' clock was set back.
  end_turns(KEYS[6], beside(KEYS[6], 'reporter'), ARGV[1])
end
return { left > 0 and 0 or 1, to_answer, back, dead, told, outs }
