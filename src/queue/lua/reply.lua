-- reply: put replies on a hub's list, which goes by itself when its hub is gone.
--
-- KEYS[1]  LIST  pshub:reply:{<hub>}
-- ARGV[1]  ms for which the list lives after its last reply
-- ARGV[2..]  replies
-- Returns  1
--
-- PEXPIRE comes first because a full Redis refuses a script whose first write grows memory, and replies are what
-- empties it. It does nothing while there is no list, hence the second one.
local fresh = redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0
redis.call('RPUSH', KEYS[1], unpack(ARGV, 2))
if fresh then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
