-- handback: puts held requests back into their lists, unchanged, and rings the bells.
--
-- Used by  worker, 10.5 and 10.6
-- KEYS[1]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[2]  LIST  pshub:{<queue>}:calls
-- KEYS[3]  LIST  pshub:{<queue>}:bell
-- KEYS[4]  LIST  pshub:{<queue>}:jobs
-- KEYS[5]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  `head` for requests that waited longest, `tail` for requests that only another worker can run
-- ARGV[2..]  held ids
-- flags:   allow-oom
-- Returns  how many went back
--
-- Only what is still held goes back: a second try after a lost answer finds nothing and pushes nothing. What is held as job:<id> goes back
-- to the jobs.
-- A foreign key fails here, before anything is moved.
redis.call('LLEN', KEYS[2])
redis.call('LLEN', KEYS[3])
redis.call('LLEN', KEYS[4])
redis.call('LLEN', KEYS[5])
for _, list in ipairs(lists_of(KEYS[4])) do redis.call('LLEN', list) end
local head = ARGV[1] == 'head'
local from, to, step = 2, #ARGV, 1
if head then from, to, step = #ARGV, 2, -1 end
local calls, jobs = 0, 0
for i = from, to, step do
  local message = redis.call('HGET', KEYS[1], ARGV[i])
  if message and not is_out(ARGV[i]) then
    redis.call('HDEL', KEYS[1], ARGV[i])
    if is_job(ARGV[i]) then
      return_job(KEYS[4], plain_id(ARGV[i]), message, head and 'LPUSH' or 'RPUSH')
      jobs = jobs + 1
    else
      redis.call(head and 'LPUSH' or 'RPUSH', KEYS[2], message)
      calls = calls + 1
    end
  end
end
if calls > 0 then ring(KEYS[3]) end
if jobs > 0 then ring(KEYS[5]) end
return calls + jobs
