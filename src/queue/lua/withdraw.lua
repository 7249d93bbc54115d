-- withdraw: cancels a tracked job.
--
-- Used by  caller, 9.9
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- ARGV[1]  job id
-- ARGV[2]  ms for which its worker is notified
-- ARGV[3]  ms for which a job that has yet to come, such as a later step of a chain, is kept away; otherwise `0`
-- flags:   allow-oom
-- Returns  its state before, empty if it has no record
--
-- A job that waits for its time or its retry, or is the first of its key, is removed at once. Any other waiting job stays until a claim
-- meets it: a search would block Redis. So does a job that only a worker may end, because a batch of another queue waits for it. Whoever
-- waits for the end finds it by looking again.
local jobs, id, now = KEYS[1], ARGV[1], now_ms()
local record = beside(jobs, 'job:' .. id)
local state, task, key, due, expires, unique =
  unpack(redis.call('HMGET', record, 'state', 'task', 'key', 'due', 'expires', 'unique'))
if not state then
  if ARGV[3] ~= '0' then
    redis.call('HSET', record, 'state', 'cancelled', 'ended', now, 'cancel', '1')
    redis.call('PEXPIRE', record, ARGV[3])
  end
  return ''
end
if state == 'running' then
  redis.call('HSET', record, 'cancel', '1')
  redis.call('ZADD', KEYS[2], now, 'job:' .. id)
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  return state
end
if state ~= 'waiting' and state ~= 'scheduled' and state ~= 'retrying' then return state end

-- Takes it out of the set of those that wait for their times. The beginning of a text that has its time stands right before it.
local function take_from(set)
  local ttl = expires and math.max(0, expires - due) or 0
  local begin = string.format('{"at":%s000,"ttl":%.0f,"id":"%s"', due, ttl, id)
  redis.pcall('ZADD', set, due, begin)
  local place = redis.pcall('ZRANK', set, begin)
  redis.pcall('ZREM', set, begin)
  local text = type(place) == 'number' and redis.pcall('ZRANGE', set, place, place)[1]
  if not text or string.sub(text, 1, #begin + 1) ~= begin .. ',' then return nil end
  redis.call('ZREM', set, text)
  return text
end

-- Takes it out of the line of its key, where it is the first there.
local function take_from_line()
  local text = redis.pcall('LINDEX', line_of(jobs, task, key), 0)
  if type(text) ~= 'string' or select(3, string.match(text, leading)) ~= id then return nil end
  redis.call('LPOP', line_of(jobs, task, key))
  leave_head(jobs, task, key)
  ring_for_jobs(jobs, beside(jobs, 'jobbell'))
  return text
end

local text = key and task and take_from_line()
if not text and state == 'scheduled' then text = take_from(beside(jobs, 'scheduled')) end
if not text and state == 'retrying' then text = take_from(beside(jobs, 'retries')) end
local options = text and options_of(text) or {}
local here, elsewhere = batches_of(jobs, id, options)
if text and not elsewhere[1] then
  for _, batch in ipairs(here) do tally(jobs, beside(jobs, 'jobbell'), batch, id, 'cancelled') end
  end_job(jobs, id, options, 'cancelled', now)
  return state
end
cancel_waiting(jobs, id, { unique = unique })
if text then
  redis.call('RPUSH', list_of(jobs, text), text)
  ring(beside(jobs, 'jobbell'))
end
return state
