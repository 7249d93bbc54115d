-- reply: pushes replies to a hub's list, which expires when the hub is gone.
--
-- Used by  worker, 10.4
-- KEYS[1]  LIST  pshub:reply:{<hub>}
-- ARGV[1]  ms for which the list lives after its last reply
-- ARGV[2..]  replies
-- flags:   allow-oom
-- Returns  1
redis.call('RPUSH', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
