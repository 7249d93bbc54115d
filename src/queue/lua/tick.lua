-- tick: the time of an entry has come. One of those who say so enqueues its job, and sets its next time.
--
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  name of the entry
-- ARGV[2]  the time that has come, Redis ms
-- ARGV[3]  its next time, Redis ms, or empty for one that has none any more
-- ARGV[4]  the job, without its `at`, or empty where it is to be passed over
-- Returns  1, or 0 where another one was quicker, or the entry is another one by now
--
-- When it enqueued its job last is noted beside the entry, as <name>:last; not where the job was a twin. What kept others from taking its
-- time, <name>:problem, is over.
-- A full Redis refuses it: the time stays as it is, and comes again.
try_lists(KEYS[1], KEYS[2])
local ticks = beside(KEYS[1], 'ticks')
local time = redis.call('ZSCORE', ticks, ARGV[1])
if not time or tonumber(time) ~= tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then redis.call('ZREM', ticks, ARGV[1]) else redis.call('ZADD', ticks, ARGV[3], ARGV[1]) end
local added = {}
if ARGV[4] ~= '' then
  local twin = add_job(KEYS[1], now_us_text(), ARGV[4], added)
  if not twin then redis.pcall('HSET', beside(KEYS[1], 'cron'), ARGV[1] .. ':last', string.format('%d', now_ms())) end
end
redis.pcall('HDEL', beside(KEYS[1], 'cron'), ARGV[1] .. ':problem')
arrive(KEYS[1], KEYS[2], added)
return 1
