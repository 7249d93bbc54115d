-- schedule: write, or remove, an entry that has jobs enqueued at its times.
--
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- ARGV[1]  name of the entry
-- ARGV[2]  the entry as JSON, or empty to remove it
-- ARGV[3]  its next time, Redis ms, or empty for one that is paused
-- flags:   allow-oom
-- Returns  1 if there was an entry of that name
--
-- Entries are in pshub:{<queue>}:cron, their next times in pshub:{<queue>}:ticks. One that is written anew goes on with its new time.
local cron, ticks, bell = beside(KEYS[1], 'cron'), beside(KEYS[1], 'ticks'), beside(KEYS[1], 'duebell')
redis.call('ZCARD', ticks)
redis.call('LLEN', bell)
local known = redis.call('HEXISTS', cron, ARGV[1])
if ARGV[2] == '' then redis.call('HDEL', cron, ARGV[1], ARGV[1] .. ':last') else redis.call('HSET', cron, ARGV[1], ARGV[2]) end
if ARGV[3] == '' then
  redis.call('ZREM', ticks, ARGV[1])
else
  redis.call('ZADD', ticks, ARGV[3], ARGV[1])
  ring(bell)
end
return known
