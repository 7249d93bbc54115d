-- batch: counts the jobs of a batch, and enqueues what follows when all have ended.
--
-- Used by  caller and worker, 9.9 and 10.13
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  id of the batch
-- ARGV[2]  `open` before its first job is enqueued, `close` when all are, or the id of a job of it that has ended
-- ARGV[3]  `open`: the job that follows, without its `at`, or empty; `close`: how many jobs there are; otherwise that job's outcome
-- ARGV[4]  `open`: the job that follows if any job did not end as `done`, or empty for the same one; otherwise empty
-- ARGV[5]  `open`: ms until an unclosed batch is dropped; otherwise `0`
-- Returns  `1`, or `0` if there is no such batch
--
-- Every step may be sent again. A job counts once.
try_lists(KEYS[1], KEYS[2])
local record = beside(KEYS[1], 'batch:' .. ARGV[1])
if ARGV[2] == 'open' then
  if redis.call('HSETNX', record, 'then', ARGV[3]) == 1 then
    redis.call('HSET', record, 'failed', ARGV[4], 'opened', now_ms())
    redis.call('PEXPIRE', record, ARGV[5])
  end
  return 1
end
if redis.call('HEXISTS', record, 'then') == 0 then return 0 end
if ARGV[2] == 'close' then
  if redis.call('HSETNX', record, 'total', ARGV[3]) == 1 then
    redis.call('PERSIST', record)
    redis.pcall('PERSIST', beside(KEYS[1], 'ended:' .. ARGV[1]))
  end
  complete_batch(KEYS[1], KEYS[2], ARGV[1])
else
  tally(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
end
return 1
