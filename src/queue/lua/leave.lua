-- leave: a worker's last step. Puts back what another worker may run, and ends the lease, in one step.
--
-- Used by  worker, 10.8
-- KEYS[1]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[2]  LIST  pshub:{<queue>}:calls
-- KEYS[3]  LIST  pshub:{<queue>}:bell
-- KEYS[4]  ZSET  pshub:{<queue>}:leases
-- KEYS[5]  LIST  pshub:{<queue>}:jobs
-- KEYS[6]  LIST  pshub:{<queue>}:jobbell
-- KEYS[7]  STRING  pshub:{<queue>}:reporter
-- ARGV[1]  worker id
-- ARGV[2..]  held ids that were started and whose replies are not confirmed
-- flags:   allow-oom
-- Returns  how many went back to the heads of their lists
--
-- One step, so that nothing is ever held without a lease.
-- A started call goes back with a mark if it may run twice. Any other started call, calls of lost workers (lost:<id>) and work for other
-- queues (out:<queue>:<id>) stay held under a lease that has ended: the next worker of the queue adopts them. Jobs go back unchanged.
-- A foreign key fails here, before anything is moved.
redis.call('LLEN', KEYS[2])
redis.call('LLEN', KEYS[3])
redis.call('LLEN', KEYS[5])
redis.call('LLEN', KEYS[6])
for _, list in ipairs(lists_of(KEYS[5])) do redis.call('LLEN', list) end
redis.call('HLEN', KEYS[1])
redis.call('ZSCORE', KEYS[4], ARGV[1])
for i = 2, #ARGV do
  local message = not is_lost(ARGV[i]) and not is_out(ARGV[i]) and redis.call('HGET', KEYS[1], ARGV[i])
  if message then
    local body, losses = without_mark(message)
    if body and may_repeat(ARGV[i], message) then
      -- That workers died holding it says as much, and more; nobody is told of a job.
      if losses == 0 and not is_job(ARGV[i]) then redis.call('HSET', KEYS[1], ARGV[i], body .. ',"started":true}') end
    else
      redis.call('HDEL', KEYS[1], ARGV[i])
      redis.call('HSET', KEYS[1], 'lost:' .. ARGV[i], message)
    end
  end
end

local held = redis.call('HKEYS', KEYS[1])
local returned, kept = 0, 0
for i = #held, 1, -1 do
  if is_lost(held[i]) or is_out(held[i]) then
    kept = kept + 1
  else
    local message = redis.call('HGET', KEYS[1], held[i])
    redis.call('HDEL', KEYS[1], held[i])
    if is_job(held[i]) then
      return_job(KEYS[5], plain_id(held[i]), message)
    else
      redis.call('LPUSH', KEYS[2], message)
    end
    returned = returned + 1
  end
end

if kept > 0 then
  redis.call('ZADD', KEYS[4], 0, ARGV[1])
else
  redis.call('ZREM', KEYS[4], ARGV[1])
end
end_turns(KEYS[5], KEYS[7], ARGV[1])
-- A token without work wakes nobody any more and would stay.
if redis.call('LLEN', KEYS[2]) == 0 then redis.call('DEL', KEYS[3]) else ring(KEYS[3]) end
ring_for_jobs(KEYS[5], KEYS[6])
return returned
