-- tick: enqueues the job of a schedule whose time has come, and sets the next time; only the first worker succeeds.
--
-- Used by  worker, 10.14
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  name of the schedule
-- ARGV[2]  the time that has come, Redis ms
-- ARGV[3]  the next time, Redis ms, or empty if there is none
-- ARGV[4]  the job without its `at`, or empty to skip this time
-- Returns  `1`, or `0` if another worker was first or the schedule was changed
--
-- Notes the last time it enqueued a job beside the schedule, as <name>:last, but not for a duplicate; and removes <name>:problem.
-- A full Redis refuses it: the time stays, and comes again.
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
