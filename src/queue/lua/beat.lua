-- beat: takes or renews a worker's lease, and reports news to the worker.
--
-- Used by  worker, 10.1
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- KEYS[3]  STRING  pshub:{<queue>}:reporter
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  STRING  pshub:{<queue>}:paused
-- KEYS[6]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[7]  LIST  pshub:{<queue>}:jobs
-- ARGV[1]  worker id
-- ARGV[2]  ms from now to the end of the lease
-- ARGV[3]  `1` to take a lease under a new id, `0` to renew
-- ARGV[4]  ms for which a cancelled id is kept
-- ARGV[5]  ms for which this worker is the queue's reporter, `0` if it does not report
-- ARGV[6]  ms for which this worker moves due jobs, `0` if it does not
-- ARGV[7]  ms for which this worker runs the schedules, `0` if it does not
-- flags:   allow-oom
-- Returns  an array; its end may be missing, and an element without a value is empty. Without the lease it has only the first five
--   1  now, us as text
--   2  `1` if the lease is held, `0` if it is lost
--   3  ids of cancelled requests, at most 1000
--   4  ids of other workers whose leases have ended, at most 16
--   5  figures, for the reporter only: length of the list of calls; `at` of its first call; number of jobs that can be claimed; since when the oldest of them is due; number of scheduled jobs, of jobs that wait for a retry, and of dead jobs; since when the oldest due key is due; number of waiting keys, and of running keys; since when the oldest of these runs. Times are us as text, empty if unknown
--   6  since when the queue is paused, ms as text
--   7  when the next job is due, ms as text; only for the worker that moves due jobs
--   8  next time of a schedule, ms as text; only for the worker that runs the schedules
--   9  ticket of somebody who asks what this worker is doing
--   10  record of the queue's shards
--
-- A lease that ended is renewed all the same as long as nobody adopted from this worker (adopting sets it to 0 and then removes it): an
-- outage of Redis itself costs no worker its identity. Whoever adopts leaves nothing here before it removes the lease; so what is held
-- without one lost it with the whole key, and nobody else would ever look for that.
-- An extension by a claim stays.
-- A lease that ends later than any beat or claim can have set it shows that Redis' clock was set back. Whoever renews first then moves all
-- others back as far; else nobody would adopt from those who died just then before the clock is where it was.
-- Foreign keys must not cost the lease: commands that the lease does not need run with pcall.
-- One worker of a queue reports: whoever beats first while nobody does, until it stops beating. The same holds for due jobs and for
-- schedules; two workers at once, or none for a moment, cost only time.
-- Nobody claims without a lease, and nobody gets one without being told of a pause.
-- Thousands of workers beat each second, and the commands here cost less than the call: each command more, and each number that is not
-- turned into text here, which Redis does by way of all its digits.
local now_text = now_us_text()
local now_ms = string.sub(now_text, 1, -4)
local now = tonumber(now_ms)

local ends, longest = now + ARGV[2], now + ARGV[2] + longest_claim
if ARGV[3] == '0' then
  local lease = redis.call('ZSCORE', KEYS[1], ARGV[1])
  local held = not lease and redis.pcall('HLEN', KEYS[6])
  if lease and tonumber(lease) == 0 or held and (type(held) ~= 'number' or held == 0) then
    return { now_text, 0, {}, {}, {} }
  end
  lease = tonumber(lease or 0)
  if lease > longest then
    local back = lease - longest
    local others = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + back), '+inf', 'WITHSCORES')
    for i = 1, #others, 2 do
      redis.call('ZADD', KEYS[1], string.format('%.0f', others[i + 1] - back), others[i])
    end
  else
    ends = math.max(ends, lease)
  end
end
redis.call('ZADD', KEYS[1], string.format('%.0f', ends), ARGV[1])
local ended = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now_ms, 'LIMIT', '0', '16')

-- Nearly always nobody gave up lately. What is older goes, once it was seen.
local cancelled = redis.pcall('ZRANGE', KEYS[2], '0', '999', 'REV')
if cancelled.err then cancelled = {} end
if cancelled[1] and redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[4]) > 0 then
  cancelled = redis.call('ZRANGE', KEYS[2], '0', '999', 'REV')
end

-- Whether it is this worker's turn, for so many milliseconds. What is somebody else's, and no word, is nobody's turn.
local function has_turn(key, ms)
  local holder = redis.pcall('GET', key)
  if holder ~= false and holder ~= ARGV[1] then return false end
  redis.pcall('SET', key, ARGV[1], 'PX', ms)
  return true
end

local jobs, figures = KEYS[7], {}
if (ARGV[5] or '0') ~= '0' and has_turn(KEYS[3], ARGV[5]) then
  -- How many are in a set; somebody else's key has none.
  local function count_of(set)
    local count = redis.pcall('ZCARD', set)
    return type(count) == 'number' and count or 0
  end

  -- What a message of a list, or nothing, says that it was pushed or due at (us), as text.
  local function at_of(head)
    return type(head) == 'string' and string.match(string.sub(head, 1, 40), '^{"at":(%d+),') or ''
  end

  -- Of each list the first one is looked at, and of those whose time has come and that are not there yet.
  local function job_figures()
    local waiting, oldest = 0, nil
    for _, list in ipairs(lists_of(jobs)) do
      local length, at = redis.pcall('LLEN', list), tonumber(at_of(redis.pcall('LINDEX', list, 0)))
      if type(length) == 'number' then waiting = waiting + length end
      if at and (not oldest or at < oldest) then oldest = at end
    end
    waiting = waiting + jobs_lined(jobs)
    local _, since = first_keyed(jobs)
    if since and (not oldest or since < oldest) then oldest = since end
    local due = next_due(jobs)
    if due and due <= now and (not oldest or due * 1000 < oldest) then oldest = due * 1000 end
    return waiting, oldest and string.format('%d', oldest) or ''
  end

  local length, head = redis.pcall('LLEN', KEYS[4]), redis.pcall('LINDEX', KEYS[4], 0)
  if type(length) == 'number' then
    figures = { length, at_of(head) }
    if jobs then
      figures[3], figures[4] = job_figures()
      for _, name in ipairs({ 'scheduled', 'retries', 'dead' }) do figures[#figures + 1] = count_of(beside(jobs, name)) end
      local _, since = first_keyed(jobs)
      figures[8] = since and string.format('%.0f', since) or ''
      figures[9], figures[10], figures[11] = key_figures(jobs)
    end
  end
end

-- What is no time is somebody else's too.
local paused = redis.pcall('GET', KEYS[5])
if type(paused) ~= 'string' or not string.find(paused, '^%d+$') or #paused > 16 then paused = '' end

-- A worker of an earlier revision does not name the seventh key.
if not jobs then return { now_text, 1, cancelled, ended, figures, paused } end
local asks = beside(jobs, 'inspect:' .. ARGV[1])
local asked_by = redis.pcall('GET', asks)
if type(asked_by) == 'string' then redis.pcall('DEL', asks) end
if type(asked_by) ~= 'string' or not string.find(asked_by, '^[%w_-]+$') or #asked_by > 64 then asked_by = nil end

local shards = shards_of(KEYS[7])

-- The answer of a worker that beats: what follows the figures, up to the last that says something.
local function answer(due, tick)
  if shards ~= '' then return { now_text, 1, cancelled, ended, figures, paused, due, tick, asked_by or '', shards } end
  if asked_by then return { now_text, 1, cancelled, ended, figures, paused, due, tick, asked_by } end
  return { now_text, 1, cancelled, ended, figures, paused, due, tick }
end

if (ARGV[6] or '0') == '0' then return answer('', '') end
local is_turn = has_turn(beside(jobs, 'turn'), ARGV[6])
if is_turn and free_orphans(jobs) > 0 then ring(beside(jobs, 'jobbell')) end
local due = is_turn and next_due(jobs)
local is_ticker = (ARGV[7] or '0') ~= '0' and has_turn(beside(jobs, 'ticker'), ARGV[7])
local tick = (ARGV[7] or '0') ~= '0' and first_of(beside(jobs, 'ticks'))
-- One that is late may be in a time zone that whoever has the turn does not know: all others are told of it, in one second of four.
local is_late = tick and tick < now - 2000 and math.floor(now / 1000) % 4 == 0
if not is_ticker and not is_late then tick = nil end
local function text_of(ms) return ms and string.format('%d', ms) or '' end
return answer(text_of(due), text_of(tick))
