-- schedule: writes or removes a schedule.
--
-- Used by  caller, 10.14
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- ARGV[1]  name of the schedule
-- ARGV[2]  the schedule as JSON, or empty to remove it
-- ARGV[3]  its next time, Redis ms, or empty if it is paused
-- ARGV[4]  the schedule as it was read, empty if there was none: only that one is replaced. Leave out this argument to replace any
-- flags:   allow-oom
-- Returns  `1` if there was a schedule of that name, else `0`; `-1` if another one is there than was read, and nothing was changed
--
-- Schedules are in pshub:{<queue>}:cron, their next times in pshub:{<queue>}:ticks. A schedule that is written unchanged keeps its next
-- time, also one that has passed and was not taken yet: a deployment writes all of its schedules again, and must not skip what is due.
local cron, ticks = beside(KEYS[1], 'cron'), beside(KEYS[1], 'ticks')
redis.call('ZCARD', ticks)
redis.call('LLEN', beside(KEYS[1], 'duebell'))
local before = redis.call('HGET', cron, ARGV[1])
-- Somebody paused it, or wrote it, since it was read.
if ARGV[4] and (before or '') ~= ARGV[4] then return -1 end
local known = before and 1 or 0
if ARGV[2] == '' then
  redis.call('HDEL', cron, ARGV[1], ARGV[1] .. ':last', ARGV[1] .. ':problem')
  redis.call('ZREM', ticks, ARGV[1])
  return known
end
redis.call('HSET', cron, ARGV[1], ARGV[2])
redis.call('HDEL', cron, ARGV[1] .. ':problem')
if ARGV[3] == '' then redis.call('ZREM', ticks, ARGV[1]) end
if ARGV[3] ~= '' and (before ~= ARGV[2] or not redis.call('ZSCORE', ticks, ARGV[1])) then
  redis.call('ZADD', ticks, ARGV[3], ARGV[1])
  ring_due(KEYS[1])
end
return known
