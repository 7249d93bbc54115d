-- leave: a worker's last step. Puts back everything it still holds and gives up its lease, in one step, so that
-- nothing is ever held without a lease.
--
-- KEYS[1]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[2]  LIST  pshub:{<queue>}:calls
-- KEYS[3]  LIST  pshub:{<queue>}:bell
-- KEYS[4]  ZSET  pshub:{<queue>}:leases
-- ARGV[1]  worker id
-- ARGV[2..]  ids that must not run again: they are forgotten, not put back
-- Returns  how many went back to the head of the list
redis.call('ZREM', KEYS[4], ARGV[1])
for i = 2, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
local messages = redis.call('HVALS', KEYS[1])
redis.call('DEL', KEYS[1])
for i = #messages, 1, -1 do redis.call('LPUSH', KEYS[2], messages[i]) end
if redis.call('LLEN', KEYS[2]) == 0 then
  -- A token without work wakes nobody any more and would stay.
  redis.call('DEL', KEYS[3])
elseif redis.call('LLEN', KEYS[3]) == 0 then
  redis.call('RPUSH', KEYS[3], '1')
end
return #messages
