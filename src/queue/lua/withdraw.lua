-- withdraw: a tracked job is not wanted any more. One that waits never runs; the worker of one that runs is told.
--
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- ARGV[1]  job id
-- ARGV[2]  ms for which a worker is told
-- ARGV[3]  ms for which a job is kept away that is to come yet, as a later step of a chain; 0 for any other
-- flags:   allow-oom
-- Returns  its state before, or empty when there is no record of it
--
-- What waits stays where it is until it would be taken: to look for it would make all of Redis wait.
local record = beside(KEYS[1], 'job:' .. ARGV[1])
local state = redis.call('HGET', record, 'state')
if not state then
  if ARGV[3] ~= '0' then
    redis.call('HSET', record, 'state', 'cancelled', 'ended', now_ms(), 'cancel', '1')
    redis.call('PEXPIRE', record, ARGV[3])
  end
  return ''
end
if state == 'running' then
  redis.call('HSET', record, 'cancel', '1')
  redis.call('ZADD', KEYS[2], now_ms(), 'job:' .. ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  return state
end
if state ~= 'waiting' and state ~= 'scheduled' and state ~= 'retrying' then return state end
cancel_waiting(KEYS[1], ARGV[1], { unique = redis.call('HGET', record, 'unique') })
return state
