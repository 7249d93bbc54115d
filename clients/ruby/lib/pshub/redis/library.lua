#!lua name=pshub_1
-- pshub, the part of it that runs in Redis. Made of src/queue/lua; PROTOCOL.md says what each function does.
local revision = 7
local rights = {hub={{"FCALL","_","0"},{"TIME"},{"INFO"},{"CLIENT","SETNAME","_"},{"CLIENT","INFO"},{"CLIENT","KILL","ID","0"},{"CLUSTER","SLOTS"},{"FCALL","_","1","<namespace>:{<queue>}:moving"},{"GET","<namespace>:{<queue>}:shards"},{"HKEYS","<namespace>:tasks"},{"HMGET","<namespace>:tasks","_"},{"HSTRLEN","<namespace>:tasks","_"},{"HMGET","<namespace>:workers","_"},{"HSTRLEN","<namespace>:workers","_"},{"HMGET","<namespace>:stats","_"},{"HSTRLEN","<namespace>:stats","_"},{"ZCOUNT","<namespace>:{<queue>}:leases","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:leases","0","0"},{"FCALL","_","1","<namespace>:{<queue>}:calls"},{"LLEN","<namespace>:{<queue>}:calls"},{"LPOS","<namespace>:{<queue>}:calls","_"},{"LREM","<namespace>:{<queue>}:calls","1","_"},{"RPUSH","<namespace>:{<queue>}:calls","_"},{"FCALL","_","1","<namespace>:{<queue>}:bell"},{"LLEN","<namespace>:{<queue>}:bell"},{"RPUSH","<namespace>:{<queue>}:bell","_"},{"UNLINK","<namespace>:{<queue>}:bell"},{"SET","<namespace>:{<queue>}:args:*","_","NX","XX","GET"},{"UNLINK","<namespace>:{<queue>}:args:*"},{"FCALL","_","1","<namespace>:{<queue>}:pushed:*"},{"SET","<namespace>:{<queue>}:pushed:*","_","NX","XX","GET"},{"UNLINK","<namespace>:{<queue>}:pushed:*"},{"FCALL","_","1","<namespace>:{<queue>}:cancelled"},{"PEXPIRE","<namespace>:{<queue>}:cancelled","1"},{"ZADD","<namespace>:{<queue>}:cancelled","0","_"},{"BLMOVE","<namespace>:reply:{*}","<namespace>:reply:{*}","LEFT","RIGHT","1"},{"LRANGE","<namespace>:reply:{*}","0","0"},{"LTRIM","<namespace>:reply:{*}","0","0"},{"UNLINK","<namespace>:reply:{*}"},{"BLMOVE","<namespace>:reply:{*}:read","<namespace>:reply:{*}:read","LEFT","RIGHT","1"},{"LRANGE","<namespace>:reply:{*}:read","0","0"},{"LTRIM","<namespace>:reply:{*}:read","0","0"},{"PEXPIRE","<namespace>:reply:{*}:read","1"},{"RPUSH","<namespace>:reply:{*}:read","_"},{"UNLINK","<namespace>:reply:{*}:read"},{"SET","<namespace>:reply:{*}:taken:*","_","NX","XX","GET"},{"UNLINK","<namespace>:reply:{*}:taken:*"},{"PEXPIRE","<namespace>:refusing","1"},{"ZADD","<namespace>:refusing","0","_"},{"ZREMRANGEBYRANK","<namespace>:refusing","0","0"},{"ZREMRANGEBYSCORE","<namespace>:refusing","0","0"},{"SET","<namespace>:refused:*","_","NX","XX","GET"}},jobs={{"FCALL","_","0"},{"TIME"},{"INFO"},{"CLIENT","SETNAME","_"},{"CLIENT","INFO"},{"CLIENT","KILL","ID","0"},{"CLUSTER","SLOTS"},{"WAIT","0","1"},{"FCALL","_","1","<namespace>:{<queue>}:moving"},{"GET","<namespace>:{<queue>}:shards"},{"HKEYS","<namespace>:tasks"},{"HMGET","<namespace>:tasks","_"},{"HSTRLEN","<namespace>:tasks","_"},{"HMGET","<namespace>:workers","_"},{"HSTRLEN","<namespace>:workers","_"},{"HMGET","<namespace>:stats","_"},{"HSTRLEN","<namespace>:stats","_"},{"ZCOUNT","<namespace>:{<queue>}:leases","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:leases","0","0"},{"FCALL","_","1","<namespace>:{<queue>}:calls"},{"LLEN","<namespace>:{<queue>}:calls"},{"LPOS","<namespace>:{<queue>}:calls","_"},{"LREM","<namespace>:{<queue>}:calls","1","_"},{"RPUSH","<namespace>:{<queue>}:calls","_"},{"FCALL","_","1","<namespace>:{<queue>}:bell"},{"LLEN","<namespace>:{<queue>}:bell"},{"RPUSH","<namespace>:{<queue>}:bell","_"},{"UNLINK","<namespace>:{<queue>}:bell"},{"SET","<namespace>:{<queue>}:args:*","_","NX","XX","GET"},{"UNLINK","<namespace>:{<queue>}:args:*"},{"FCALL","_","1","<namespace>:{<queue>}:pushed:*"},{"SET","<namespace>:{<queue>}:pushed:*","_","NX","XX","GET"},{"UNLINK","<namespace>:{<queue>}:pushed:*"},{"FCALL","_","1","<namespace>:{<queue>}:cancelled"},{"PEXPIRE","<namespace>:{<queue>}:cancelled","1"},{"ZADD","<namespace>:{<queue>}:cancelled","0","_"},{"BLMOVE","<namespace>:reply:{*}","<namespace>:reply:{*}","LEFT","RIGHT","1"},{"LRANGE","<namespace>:reply:{*}","0","0"},{"LTRIM","<namespace>:reply:{*}","0","0"},{"UNLINK","<namespace>:reply:{*}"},{"BLMOVE","<namespace>:reply:{*}:read","<namespace>:reply:{*}:read","LEFT","RIGHT","1"},{"LRANGE","<namespace>:reply:{*}:read","0","0"},{"LTRIM","<namespace>:reply:{*}:read","0","0"},{"PEXPIRE","<namespace>:reply:{*}:read","1"},{"RPUSH","<namespace>:reply:{*}:read","_"},{"UNLINK","<namespace>:reply:{*}:read"},{"SET","<namespace>:reply:{*}:taken:*","_","NX","XX","GET"},{"UNLINK","<namespace>:reply:{*}:taken:*"},{"PEXPIRE","<namespace>:refusing","1"},{"ZADD","<namespace>:refusing","0","_"},{"ZREMRANGEBYRANK","<namespace>:refusing","0","0"},{"ZREMRANGEBYSCORE","<namespace>:refusing","0","0"},{"SET","<namespace>:refused:*","_","NX","XX","GET"},{"ZADD","<namespace>:queues","0","_"},{"ZRANGE","<namespace>:queues","0","0"},{"FCALL","_","1","<namespace>:{<queue>}:jobs"},{"LLEN","<namespace>:{<queue>}:jobs"},{"LRANGE","<namespace>:{<queue>}:jobs","0","0"},{"LREM","<namespace>:{<queue>}:jobs","1","_"},{"RPUSH","<namespace>:{<queue>}:jobs","_"},{"LLEN","<namespace>:{<queue>}:jobs:high"},{"LRANGE","<namespace>:{<queue>}:jobs:high","0","0"},{"LREM","<namespace>:{<queue>}:jobs:high","1","_"},{"RPUSH","<namespace>:{<queue>}:jobs:high","_"},{"LLEN","<namespace>:{<queue>}:jobs:low"},{"LRANGE","<namespace>:{<queue>}:jobs:low","0","0"},{"LREM","<namespace>:{<queue>}:jobs:low","1","_"},{"RPUSH","<namespace>:{<queue>}:jobs:low","_"},{"FCALL","_","1","<namespace>:{<queue>}:jobbell"},{"DEL","<namespace>:{<queue>}:jobbell"},{"LLEN","<namespace>:{<queue>}:jobbell"},{"RPUSH","<namespace>:{<queue>}:jobbell","_"},{"ZADD","<namespace>:{<queue>}:scheduled","0","_"},{"ZCARD","<namespace>:{<queue>}:scheduled"},{"ZRANGE","<namespace>:{<queue>}:scheduled","0","0"},{"ZRANK","<namespace>:{<queue>}:scheduled","_"},{"ZREM","<namespace>:{<queue>}:scheduled","_"},{"ZADD","<namespace>:{<queue>}:retries","0","_"},{"ZCARD","<namespace>:{<queue>}:retries"},{"ZRANGE","<namespace>:{<queue>}:retries","0","0"},{"ZRANK","<namespace>:{<queue>}:retries","_"},{"ZREM","<namespace>:{<queue>}:retries","_"},{"HKEYS","<namespace>:{<queue>}:held:*"},{"HMGET","<namespace>:{<queue>}:held:*","_"},{"LLEN","<namespace>:{<queue>}:duebell"},{"PEXPIRE","<namespace>:{<queue>}:duebell","1"},{"RPUSH","<namespace>:{<queue>}:duebell","_"},{"ZADD","<namespace>:{<queue>}:dead","0","_"},{"ZCARD","<namespace>:{<queue>}:dead"},{"ZRANGE","<namespace>:{<queue>}:dead","0","0"},{"ZREM","<namespace>:{<queue>}:dead","_"},{"ZREMRANGEBYRANK","<namespace>:{<queue>}:dead","0","0"},{"ZREMRANGEBYSCORE","<namespace>:{<queue>}:dead","0","0"},{"ZSCORE","<namespace>:{<queue>}:dead","_"},{"EXISTS","<namespace>:{<queue>}:line:*:*"},{"LINDEX","<namespace>:{<queue>}:line:*:*","0"},{"LLEN","<namespace>:{<queue>}:line:*:*"},{"LPOP","<namespace>:{<queue>}:line:*:*","1"},{"LRANGE","<namespace>:{<queue>}:line:*:*","0","0"},{"LREM","<namespace>:{<queue>}:line:*:*","1","_"},{"RPUSH","<namespace>:{<queue>}:line:*:*","_"},{"EXISTS","<namespace>:{<queue>}:merged:*:*"},{"UNLINK","<namespace>:{<queue>}:merged:*:*"},{"ZADD","<namespace>:{<queue>}:merged:*:*","0","_"},{"ZCARD","<namespace>:{<queue>}:merged:*:*"},{"ZPOPMIN","<namespace>:{<queue>}:merged:*:*"},{"ZRANGE","<namespace>:{<queue>}:merged:*:*","0","0"},{"HDEL","<namespace>:{<queue>}:tried:*","_"},{"HGET","<namespace>:{<queue>}:tried:*","_"},{"HDEL","<namespace>:{<queue>}:next:*","_"},{"HGET","<namespace>:{<queue>}:next:*","_"},{"HSET","<namespace>:{<queue>}:next:*","_","_"},{"HGET","<namespace>:{<queue>}:scores","_"},{"HSET","<namespace>:{<queue>}:scores","_","_"},{"ZADD","<namespace>:{<queue>}:keys:*","0","_"},{"ZCARD","<namespace>:{<queue>}:keys:*"},{"ZRANGE","<namespace>:{<queue>}:keys:*","0","0"},{"ZREM","<namespace>:{<queue>}:keys:*","_"},{"ZSCORE","<namespace>:{<queue>}:keys:*","_"},{"EXISTS","<namespace>:{<queue>}:running:*"},{"HDEL","<namespace>:{<queue>}:running:*","_"},{"HEXISTS","<namespace>:{<queue>}:running:*","_"},{"HGET","<namespace>:{<queue>}:running:*","_"},{"HKEYS","<namespace>:{<queue>}:running:*"},{"ZADD","<namespace>:{<queue>}:later","0","_"},{"ZRANGE","<namespace>:{<queue>}:later","0","0"},{"ZREM","<namespace>:{<queue>}:later","_"},{"ZSCORE","<namespace>:{<queue>}:later","_"},{"ZADD","<namespace>:{<queue>}:keyed","0","_"},{"ZRANGE","<namespace>:{<queue>}:keyed","0","0"},{"ZREM","<namespace>:{<queue>}:keyed","_"},{"HDEL","<namespace>:{<queue>}:lined","_"},{"HGET","<namespace>:{<queue>}:lined","_"},{"HINCRBY","<namespace>:{<queue>}:lined","_","1"},{"HVALS","<namespace>:{<queue>}:lined"},{"FCALL","_","1","<namespace>:{<queue>}:job:*"},{"EXISTS","<namespace>:{<queue>}:job:*"},{"HDEL","<namespace>:{<queue>}:job:*","_"},{"HGET","<namespace>:{<queue>}:job:*","_"},{"HGETALL","<namespace>:{<queue>}:job:*"},{"HKEYS","<namespace>:{<queue>}:job:*"},{"HMGET","<namespace>:{<queue>}:job:*","_"},{"HSET","<namespace>:{<queue>}:job:*","_","_"},{"PERSIST","<namespace>:{<queue>}:job:*"},{"PEXPIRE","<namespace>:{<queue>}:job:*","1"},{"PTTL","<namespace>:{<queue>}:job:*"},{"GET","<namespace>:{<queue>}:progress:*"},{"HEXISTS","<namespace>:{<queue>}:batch:*","_"},{"HGETALL","<namespace>:{<queue>}:batch:*"},{"HINCRBY","<namespace>:{<queue>}:batch:*","_","1"},{"HMGET","<namespace>:{<queue>}:batch:*","_"},{"HSET","<namespace>:{<queue>}:batch:*","_","_"},{"HSETNX","<namespace>:{<queue>}:batch:*","_","_"},{"PERSIST","<namespace>:{<queue>}:batch:*"},{"PEXPIRE","<namespace>:{<queue>}:batch:*","1"},{"PTTL","<namespace>:{<queue>}:batch:*"},{"DEL","<namespace>:{<queue>}:ended:*"},{"PERSIST","<namespace>:{<queue>}:ended:*"},{"PEXPIRE","<namespace>:{<queue>}:ended:*","1"},{"SADD","<namespace>:{<queue>}:ended:*","_"},{"DEL","<namespace>:{<queue>}:unique:*"},{"GET","<namespace>:{<queue>}:unique:*"},{"SET","<namespace>:{<queue>}:unique:*","_","NX","XX","GET"},{"FCALL","_","1","<namespace>:{<queue>}:enqueued:*"},{"GET","<namespace>:{<queue>}:enqueued:*"},{"PEXPIRE","<namespace>:{<queue>}:enqueued:*","1"},{"SET","<namespace>:{<queue>}:enqueued:*","_","NX","XX","GET"},{"UNLINK","<namespace>:{<queue>}:enqueued:*"},{"SET","<namespace>:{<queue>}:came:*","_","NX","XX","GET"},{"HDEL","<namespace>:{<queue>}:cron","_"},{"HGET","<namespace>:{<queue>}:cron","_"},{"HGETALL","<namespace>:{<queue>}:cron"},{"HSET","<namespace>:{<queue>}:cron","_","_"},{"ZADD","<namespace>:{<queue>}:ticks","0","_"},{"ZCARD","<namespace>:{<queue>}:ticks"},{"ZRANGE","<namespace>:{<queue>}:ticks","0","0"},{"ZREM","<namespace>:{<queue>}:ticks","_"},{"ZSCORE","<namespace>:{<queue>}:ticks","_"}},worker={{"FCALL","_","0"},{"TIME"},{"INFO"},{"CLIENT","SETNAME","_"},{"CLIENT","INFO"},{"CLIENT","KILL","ID","0"},{"CLIENT","ID"},{"CLIENT","UNBLOCK","0"},{"CLUSTER","SLOTS"},{"FCALL","_","1","<namespace>:{<queue>}:moving"},{"FCALL","_","1","<namespace>:{<queue>}:shards"},{"GET","<namespace>:{<queue>}:shards"},{"SET","<namespace>:{<queue>}:shards","_","NX","XX","GET"},{"FCALL","_","1","<namespace>:tasks"},{"HDEL","<namespace>:tasks","_"},{"HGET","<namespace>:tasks","_"},{"HKEYS","<namespace>:tasks"},{"HMGET","<namespace>:tasks","_"},{"HSET","<namespace>:tasks","_","_"},{"HSTRLEN","<namespace>:tasks","_"},{"ZRANGE","<namespace>:queues","0","0"},{"ZRANGEBYSCORE","<namespace>:queues","0","0"},{"ZREM","<namespace>:queues","_"},{"HDEL","<namespace>:workers","_"},{"HMGET","<namespace>:workers","_"},{"HSET","<namespace>:workers","_","_"},{"HSTRLEN","<namespace>:workers","_"},{"HDEL","<namespace>:stats","_"},{"HKEYS","<namespace>:stats"},{"HMGET","<namespace>:stats","_"},{"HSET","<namespace>:stats","_","_"},{"HSTRLEN","<namespace>:stats","_"},{"HDEL","<namespace>:taskstats","_"},{"HSET","<namespace>:taskstats","_","_"},{"HDEL","<namespace>:slow","_"},{"HSET","<namespace>:slow","_","_"},{"HDEL","<namespace>:failures","_"},{"HSET","<namespace>:failures","_","_"},{"FCALL","_","1","<namespace>:{<queue>}:leases"},{"ZADD","<namespace>:{<queue>}:leases","0","_"},{"ZCOUNT","<namespace>:{<queue>}:leases","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:leases","0","0"},{"ZREM","<namespace>:{<queue>}:leases","_"},{"ZSCORE","<namespace>:{<queue>}:leases","_"},{"FCALL","_","1","<namespace>:{<queue>}:calls"},{"LINDEX","<namespace>:{<queue>}:calls","0"},{"LLEN","<namespace>:{<queue>}:calls"},{"LPOP","<namespace>:{<queue>}:calls","1"},{"LPUSH","<namespace>:{<queue>}:calls","_"},{"RPUSH","<namespace>:{<queue>}:calls","_"},{"GET","<namespace>:{<queue>}:args:*"},{"MGET","<namespace>:{<queue>}:args:*"},{"FCALL","_","1","<namespace>:{<queue>}:bell"},{"BLPOP","<namespace>:{<queue>}:bell","0.001"},{"DEL","<namespace>:{<queue>}:bell"},{"LLEN","<namespace>:{<queue>}:bell"},{"RPUSH","<namespace>:{<queue>}:bell","_"},{"FCALL","_","1","<namespace>:{<queue>}:jobs"},{"EXISTS","<namespace>:{<queue>}:jobs"},{"LINDEX","<namespace>:{<queue>}:jobs","0"},{"LLEN","<namespace>:{<queue>}:jobs"},{"LPOP","<namespace>:{<queue>}:jobs","1"},{"LPUSH","<namespace>:{<queue>}:jobs","_"},{"RPUSH","<namespace>:{<queue>}:jobs","_"},{"EXISTS","<namespace>:{<queue>}:jobs:high"},{"LINDEX","<namespace>:{<queue>}:jobs:high","0"},{"LLEN","<namespace>:{<queue>}:jobs:high"},{"LPOP","<namespace>:{<queue>}:jobs:high","1"},{"LPUSH","<namespace>:{<queue>}:jobs:high","_"},{"RPUSH","<namespace>:{<queue>}:jobs:high","_"},{"EXISTS","<namespace>:{<queue>}:jobs:low"},{"LINDEX","<namespace>:{<queue>}:jobs:low","0"},{"LLEN","<namespace>:{<queue>}:jobs:low"},{"LPOP","<namespace>:{<queue>}:jobs:low","1"},{"LPUSH","<namespace>:{<queue>}:jobs:low","_"},{"RPUSH","<namespace>:{<queue>}:jobs:low","_"},{"FCALL","_","1","<namespace>:{<queue>}:jobbell"},{"BLPOP","<namespace>:{<queue>}:jobbell","0.001"},{"DEL","<namespace>:{<queue>}:jobbell"},{"LLEN","<namespace>:{<queue>}:jobbell"},{"RPUSH","<namespace>:{<queue>}:jobbell","_"},{"ZADD","<namespace>:{<queue>}:scheduled","0","_"},{"ZCARD","<namespace>:{<queue>}:scheduled"},{"ZRANGE","<namespace>:{<queue>}:scheduled","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:scheduled","0","0"},{"ZREMRANGEBYRANK","<namespace>:{<queue>}:scheduled","0","0"},{"ZADD","<namespace>:{<queue>}:retries","0","_"},{"ZCARD","<namespace>:{<queue>}:retries"},{"ZRANGE","<namespace>:{<queue>}:retries","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:retries","0","0"},{"ZREMRANGEBYRANK","<namespace>:{<queue>}:retries","0","0"},{"BLPOP","<namespace>:{<queue>}:duebell","0.001"},{"LLEN","<namespace>:{<queue>}:duebell"},{"PEXPIRE","<namespace>:{<queue>}:duebell","1"},{"RPUSH","<namespace>:{<queue>}:duebell","_"},{"DEL","<namespace>:{<queue>}:turn"},{"GET","<namespace>:{<queue>}:turn"},{"SET","<namespace>:{<queue>}:turn","_","NX","XX","GET"},{"HDEL","<namespace>:{<queue>}:cron","_"},{"HMGET","<namespace>:{<queue>}:cron","_"},{"HSET","<namespace>:{<queue>}:cron","_","_"},{"ZADD","<namespace>:{<queue>}:ticks","0","_"},{"ZRANGE","<namespace>:{<queue>}:ticks","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:ticks","0","0"},{"ZREM","<namespace>:{<queue>}:ticks","_"},{"ZSCORE","<namespace>:{<queue>}:ticks","_"},{"DEL","<namespace>:{<queue>}:ticker"},{"GET","<namespace>:{<queue>}:ticker"},{"SET","<namespace>:{<queue>}:ticker","_","NX","XX","GET"},{"ZADD","<namespace>:{<queue>}:dead","0","_"},{"ZCARD","<namespace>:{<queue>}:dead"},{"ZREMRANGEBYRANK","<namespace>:{<queue>}:dead","0","0"},{"ZREMRANGEBYSCORE","<namespace>:{<queue>}:dead","0","0"},{"EXISTS","<namespace>:{<queue>}:line:*:*"},{"LINDEX","<namespace>:{<queue>}:line:*:*","0"},{"LPOP","<namespace>:{<queue>}:line:*:*","1"},{"LPUSH","<namespace>:{<queue>}:line:*:*","_"},{"RPUSH","<namespace>:{<queue>}:line:*:*","_"},{"EXISTS","<namespace>:{<queue>}:merged:*:*"},{"ZADD","<namespace>:{<queue>}:merged:*:*","0","_"},{"ZCARD","<namespace>:{<queue>}:merged:*:*"},{"ZPOPMIN","<namespace>:{<queue>}:merged:*:*"},{"HDEL","<namespace>:{<queue>}:tried:*","_"},{"HGET","<namespace>:{<queue>}:tried:*","_"},{"HMGET","<namespace>:{<queue>}:tried:*","_"},{"HSET","<namespace>:{<queue>}:tried:*","_","_"},{"HDEL","<namespace>:{<queue>}:next:*","_"},{"HGET","<namespace>:{<queue>}:next:*","_"},{"HGET","<namespace>:{<queue>}:scores","_"},{"HSET","<namespace>:{<queue>}:scores","_","_"},{"ZADD","<namespace>:{<queue>}:keys:*","0","_"},{"ZCARD","<namespace>:{<queue>}:keys:*"},{"ZPOPMIN","<namespace>:{<queue>}:keys:*"},{"ZRANGE","<namespace>:{<queue>}:keys:*","0","0"},{"ZSCORE","<namespace>:{<queue>}:keys:*","_"},{"EXISTS","<namespace>:{<queue>}:running:*"},{"HDEL","<namespace>:{<queue>}:running:*","_"},{"HEXISTS","<namespace>:{<queue>}:running:*","_"},{"HGET","<namespace>:{<queue>}:running:*","_"},{"HGETALL","<namespace>:{<queue>}:running:*"},{"HMGET","<namespace>:{<queue>}:running:*","_"},{"HSET","<namespace>:{<queue>}:running:*","_","_"},{"HVALS","<namespace>:{<queue>}:running:*"},{"ZADD","<namespace>:{<queue>}:later","0","_"},{"ZCARD","<namespace>:{<queue>}:later"},{"ZRANGE","<namespace>:{<queue>}:later","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:later","0","0"},{"ZREM","<namespace>:{<queue>}:later","_"},{"ZSCORE","<namespace>:{<queue>}:later","_"},{"EXISTS","<namespace>:{<queue>}:keyed"},{"ZADD","<namespace>:{<queue>}:keyed","0","_"},{"ZRANGE","<namespace>:{<queue>}:keyed","0","0"},{"ZREM","<namespace>:{<queue>}:keyed","_"},{"HDEL","<namespace>:{<queue>}:lined","_"},{"HGET","<namespace>:{<queue>}:lined","_"},{"HINCRBY","<namespace>:{<queue>}:lined","_","1"},{"HVALS","<namespace>:{<queue>}:lined"},{"GET","<namespace>:{<queue>}:fence"},{"SET","<namespace>:{<queue>}:fence","_","NX","XX","GET"},{"HDEL","<namespace>:{<queue>}:job:*","_"},{"HGET","<namespace>:{<queue>}:job:*","_"},{"HGETALL","<namespace>:{<queue>}:job:*"},{"HKEYS","<namespace>:{<queue>}:job:*"},{"HMGET","<namespace>:{<queue>}:job:*","_"},{"HSET","<namespace>:{<queue>}:job:*","_","_"},{"PERSIST","<namespace>:{<queue>}:job:*"},{"PEXPIRE","<namespace>:{<queue>}:job:*","1"},{"HEXISTS","<namespace>:{<queue>}:batch:*","_"},{"HINCRBY","<namespace>:{<queue>}:batch:*","_","1"},{"HMGET","<namespace>:{<queue>}:batch:*","_"},{"HSETNX","<namespace>:{<queue>}:batch:*","_","_"},{"PEXPIRE","<namespace>:{<queue>}:batch:*","1"},{"PTTL","<namespace>:{<queue>}:batch:*"},{"DEL","<namespace>:{<queue>}:ended:*"},{"PEXPIRE","<namespace>:{<queue>}:ended:*","1"},{"SADD","<namespace>:{<queue>}:ended:*","_"},{"DEL","<namespace>:{<queue>}:came:*"},{"SET","<namespace>:{<queue>}:came:*","_","NX","XX","GET"},{"DEL","<namespace>:{<queue>}:unique:*"},{"GET","<namespace>:{<queue>}:unique:*"},{"SET","<namespace>:{<queue>}:unique:*","_","NX","XX","GET"},{"FCALL","_","1","<namespace>:{<queue>}:cancelled"},{"ZRANGE","<namespace>:{<queue>}:cancelled","0","0"},{"ZREMRANGEBYSCORE","<namespace>:{<queue>}:cancelled","0","0"},{"FCALL","_","1","<namespace>:{<queue>}:reporter"},{"DEL","<namespace>:{<queue>}:reporter"},{"GET","<namespace>:{<queue>}:reporter"},{"SET","<namespace>:{<queue>}:reporter","_","NX","XX","GET"},{"FCALL","_","1","<namespace>:{<queue>}:paused"},{"GET","<namespace>:{<queue>}:paused"},{"FCALL","_","1","<namespace>:{<queue>}:held:*"},{"HDEL","<namespace>:{<queue>}:held:*","_"},{"HEXISTS","<namespace>:{<queue>}:held:*","_"},{"HGET","<namespace>:{<queue>}:held:*","_"},{"HKEYS","<namespace>:{<queue>}:held:*"},{"HLEN","<namespace>:{<queue>}:held:*"},{"HRANDFIELD","<namespace>:{<queue>}:held:*"},{"HSET","<namespace>:{<queue>}:held:*","_","_"},{"FCALL","_","1","<namespace>:reply:{*}"},{"PEXPIRE","<namespace>:reply:{*}","1"},{"RPUSH","<namespace>:reply:{*}","_"},{"GET","<namespace>:reply:{*}:taken:*"},{"DEL","<namespace>:{<queue>}:progress:*"},{"SET","<namespace>:{<queue>}:progress:*","_","NX","XX","GET"},{"DEL","<namespace>:{<queue>}:inspect:*"},{"GET","<namespace>:{<queue>}:inspect:*"},{"PEXPIRE","<namespace>:{<queue>}:shown:*","1"},{"RPUSH","<namespace>:{<queue>}:shown:*","_"},{"FCALL","_","1","<namespace>:lock:{*}"},{"HDEL","<namespace>:lock:{*}","_"},{"HMGET","<namespace>:lock:{*}","_"},{"HSET","<namespace>:lock:{*}","_","_"},{"PEXPIRE","<namespace>:lock:{*}","1"},{"FCALL","_","1","<namespace>:rate:{*}"},{"LINDEX","<namespace>:rate:{*}","0"},{"LTRIM","<namespace>:rate:{*}","0","0"},{"PEXPIRE","<namespace>:rate:{*}","1"},{"RPUSH","<namespace>:rate:{*}","_"},{"FCALL","_","1","<namespace>:told:{*}"},{"GET","<namespace>:told:{*}"},{"SET","<namespace>:told:{*}","_","NX","XX","GET"}},view={{"TIME"},{"INFO"},{"CLIENT","SETNAME","_"},{"CLIENT","INFO"},{"CLIENT","KILL","ID","0"},{"CLUSTER","SLOTS"},{"SCAN","0"},{"HKEYS","<namespace>:workers"},{"HMGET","<namespace>:workers","_"},{"HSTRLEN","<namespace>:workers","_"},{"ZRANGE","<namespace>:queues","0","0"},{"HMGET","<namespace>:stats","_"},{"HSTRLEN","<namespace>:stats","_"},{"HMGET","<namespace>:taskstats","_"},{"HSTRLEN","<namespace>:taskstats","_"},{"HMGET","<namespace>:slow","_"},{"HSTRLEN","<namespace>:slow","_"},{"HMGET","<namespace>:failures","_"},{"HSTRLEN","<namespace>:failures","_"},{"ZRANGE","<namespace>:refusing","0","0"},{"GETRANGE","<namespace>:refused:*","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:leases","0","0"},{"LLEN","<namespace>:{<queue>}:calls"},{"LRANGE","<namespace>:{<queue>}:calls","0","0"},{"LLEN","<namespace>:{<queue>}:jobs"},{"LRANGE","<namespace>:{<queue>}:jobs","0","0"},{"LLEN","<namespace>:{<queue>}:jobs:high"},{"LRANGE","<namespace>:{<queue>}:jobs:high","0","0"},{"LLEN","<namespace>:{<queue>}:jobs:low"},{"LRANGE","<namespace>:{<queue>}:jobs:low","0","0"},{"ZCARD","<namespace>:{<queue>}:scheduled"},{"ZRANGE","<namespace>:{<queue>}:scheduled","0","0"},{"ZCARD","<namespace>:{<queue>}:retries"},{"ZRANGE","<namespace>:{<queue>}:retries","0","0"},{"ZCARD","<namespace>:{<queue>}:dead"},{"ZRANGE","<namespace>:{<queue>}:dead","0","0"},{"HGETALL","<namespace>:{<queue>}:job:*"},{"HMGET","<namespace>:{<queue>}:job:*","_"},{"GET","<namespace>:{<queue>}:progress:*"},{"HGETALL","<namespace>:{<queue>}:batch:*"},{"HGETALL","<namespace>:{<queue>}:cron"},{"ZRANGE","<namespace>:{<queue>}:ticks","0","0"},{"HKEYS","<namespace>:{<queue>}:held:*"},{"HLEN","<namespace>:{<queue>}:held:*"},{"HMGET","<namespace>:{<queue>}:held:*","_"},{"LLEN","<namespace>:{<queue>}:line:*:*"},{"LRANGE","<namespace>:{<queue>}:line:*:*","0","0"},{"ZCARD","<namespace>:{<queue>}:keys:*"},{"ZRANGE","<namespace>:{<queue>}:keys:*","0","0"},{"ZSCORE","<namespace>:{<queue>}:keys:*","_"},{"ZCARD","<namespace>:{<queue>}:later"},{"ZRANGE","<namespace>:{<queue>}:later","0","0"},{"ZSCORE","<namespace>:{<queue>}:later","_"},{"ZRANGE","<namespace>:{<queue>}:keyed","0","0"},{"HGET","<namespace>:{<queue>}:running:*","_"},{"HKEYS","<namespace>:{<queue>}:running:*"},{"HVALS","<namespace>:{<queue>}:running:*"},{"ZCARD","<namespace>:{<queue>}:merged:*:*"},{"ZRANGE","<namespace>:{<queue>}:merged:*:*","0","0"},{"HGET","<namespace>:{<queue>}:tried:*","_"},{"HVALS","<namespace>:{<queue>}:lined"},{"GET","<namespace>:{<queue>}:shards"},{"HKEYS","<namespace>:tasks"},{"HMGET","<namespace>:tasks","_"},{"HSTRLEN","<namespace>:tasks","_"},{"GET","<namespace>:{<queue>}:paused"}},admin={{"TIME"},{"INFO"},{"CLIENT","SETNAME","_"},{"CLIENT","INFO"},{"CLIENT","KILL","ID","0"},{"CLUSTER","SLOTS"},{"SCAN","0"},{"HKEYS","<namespace>:workers"},{"HMGET","<namespace>:workers","_"},{"HSTRLEN","<namespace>:workers","_"},{"ZRANGE","<namespace>:queues","0","0"},{"HMGET","<namespace>:stats","_"},{"HSTRLEN","<namespace>:stats","_"},{"HMGET","<namespace>:taskstats","_"},{"HSTRLEN","<namespace>:taskstats","_"},{"HMGET","<namespace>:slow","_"},{"HSTRLEN","<namespace>:slow","_"},{"HMGET","<namespace>:failures","_"},{"HSTRLEN","<namespace>:failures","_"},{"ZRANGE","<namespace>:refusing","0","0"},{"GETRANGE","<namespace>:refused:*","0","0"},{"ZRANGEBYSCORE","<namespace>:{<queue>}:leases","0","0"},{"LLEN","<namespace>:{<queue>}:calls"},{"LRANGE","<namespace>:{<queue>}:calls","0","0"},{"LLEN","<namespace>:{<queue>}:jobs"},{"LRANGE","<namespace>:{<queue>}:jobs","0","0"},{"LLEN","<namespace>:{<queue>}:jobs:high"},{"LRANGE","<namespace>:{<queue>}:jobs:high","0","0"},{"LLEN","<namespace>:{<queue>}:jobs:low"},{"LRANGE","<namespace>:{<queue>}:jobs:low","0","0"},{"ZCARD","<namespace>:{<queue>}:scheduled"},{"ZRANGE","<namespace>:{<queue>}:scheduled","0","0"},{"ZCARD","<namespace>:{<queue>}:retries"},{"ZRANGE","<namespace>:{<queue>}:retries","0","0"},{"ZCARD","<namespace>:{<queue>}:dead"},{"ZRANGE","<namespace>:{<queue>}:dead","0","0"},{"HGETALL","<namespace>:{<queue>}:job:*"},{"HMGET","<namespace>:{<queue>}:job:*","_"},{"GET","<namespace>:{<queue>}:progress:*"},{"HGETALL","<namespace>:{<queue>}:batch:*"},{"HGETALL","<namespace>:{<queue>}:cron"},{"ZRANGE","<namespace>:{<queue>}:ticks","0","0"},{"HKEYS","<namespace>:{<queue>}:held:*"},{"HLEN","<namespace>:{<queue>}:held:*"},{"HMGET","<namespace>:{<queue>}:held:*","_"},{"LLEN","<namespace>:{<queue>}:line:*:*"},{"LRANGE","<namespace>:{<queue>}:line:*:*","0","0"},{"ZCARD","<namespace>:{<queue>}:keys:*"},{"ZRANGE","<namespace>:{<queue>}:keys:*","0","0"},{"ZSCORE","<namespace>:{<queue>}:keys:*","_"},{"ZCARD","<namespace>:{<queue>}:later"},{"ZRANGE","<namespace>:{<queue>}:later","0","0"},{"ZSCORE","<namespace>:{<queue>}:later","_"},{"ZRANGE","<namespace>:{<queue>}:keyed","0","0"},{"HGET","<namespace>:{<queue>}:running:*","_"},{"HKEYS","<namespace>:{<queue>}:running:*"},{"HVALS","<namespace>:{<queue>}:running:*"},{"ZCARD","<namespace>:{<queue>}:merged:*:*"},{"ZRANGE","<namespace>:{<queue>}:merged:*:*","0","0"},{"HGET","<namespace>:{<queue>}:tried:*","_"},{"HVALS","<namespace>:{<queue>}:lined"},{"GET","<namespace>:{<queue>}:shards"},{"HDEL","<namespace>:tasks","_"},{"HKEYS","<namespace>:tasks"},{"HMGET","<namespace>:tasks","_"},{"HSTRLEN","<namespace>:tasks","_"},{"GET","<namespace>:{<queue>}:paused"},{"GETEX","<namespace>:{<queue>}:paused"},{"SET","<namespace>:{<queue>}:paused","_","NX","XX","GET"},{"SET","<namespace>:{<queue>}:inspect:*","_","NX","XX","GET"},{"UNLINK","<namespace>:{<queue>}:inspect:*"},{"BLPOP","<namespace>:{<queue>}:shown:*","0.001"}},registry={{"INFO"},{"CLIENT","SETNAME","_"},{"CLIENT","INFO"},{"CLIENT","KILL","ID","0"},{"CLUSTER","SLOTS"},{"GETRANGE","<namespace>:session:*","0","0"},{"SET","<namespace>:session:*","_","NX","XX","GET"},{"UNLINK","<namespace>:session:*"},{"GETRANGE","<namespace>:chart:*:*","0","0"},{"SET","<namespace>:chart:*:*","_","NX","XX","GET"},{"GETRANGE","<namespace>:template:*:*","0","0"},{"SET","<namespace>:template:*:*","_","NX","XX","GET"},{"UNLINK","<namespace>:template:*:*"}},install={{"FCALL","_","0"},{"FUNCTION","LOAD","_"},{"INFO"},{"CLIENT","SETNAME","_"},{"CLUSTER","SLOTS"}}}
-- What several functions of the library use. Each of them has the text of a file of its own, of the operation's name, and gets
-- KEYS and ARGV as that file's header says. A line `-- flags:` there names how Redis is to run it: `allow-oom` on a full Redis
-- too, with all that it writes; without it a full Redis refuses it before its first line. `no-writes` changes nothing.
-- No `elseif` in any of them: the server that is embedded in the demo finds their ends by counting words, and that one has no end of
-- its own.

-- Redis' clock in microseconds, as text: as a number it would lose its last digits when it is made a text again.
local function now_us_text()
  local time = redis.call('TIME')
  return time[1] .. string.sub('00000' .. time[2], -6)
end

-- Redis' clock in whole milliseconds.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- So far ahead, ms, a claim puts its worker's lease at the most, however long its answer takes.
local longest_claim = 30000

-- Wakes one of those who wait at a bell. One token is enough: who takes it rings again while something is left.
local function ring(bell)
  if redis.call('LLEN', bell) == 0 then redis.call('RPUSH', bell, '1') end
end

-- Held ids: a job's begins with job:, and what was adopted with lost:, in front of that.
local function is_lost(held_id)
  return string.sub(held_id, 1, 5) == 'lost:'
end
local function is_job(held_id)
  return string.sub(is_lost(held_id) and string.sub(held_id, 6) or held_id, 1, 4) == 'job:'
end

-- What is to be done elsewhere begins with out:.
local function is_out(held_id)
  return string.sub(held_id, 1, 4) == 'out:'
end
local function plain_id(held_id)
  local id = is_lost(held_id) and string.sub(held_id, 6) or held_id
  return string.sub(id, 1, 4) == 'job:' and string.sub(id, 5) or id
end

-- How a request begins that did not come by hand: at, ttl, id.
local leading = '^{"at":(%d+),"ttl":(%d+),"id":"([%w_-]+)"'

local leading_and_behind = leading .. '()'

-- Whether what a worker held may be run twice: any job, and a call whose caller said so.
local function may_repeat(held_id, message)
  return is_job(held_id) or string.find(message, leading .. ',"idempotent":true,') ~= nil
end

-- Whether its deadline has passed, as far as that can be seen.
local function is_over(message, now_us)
  local at, ttl = string.match(message, leading)
  return at ~= nil and ttl ~= '0' and tonumber(at) + tonumber(ttl) * 1000 <= now_us
end

-- A message without its last brace and the mark before it, and how many workers died holding it; nil for what has no such end.
-- Marks are spliced in as text: a payload is never decoded and encoded again.
local function without_mark(message)
  local last = string.find(message, '}%s*$')
  if not last then return nil, 0 end
  local body = string.sub(message, 1, last - 1)
  local mark, losses = string.match(string.sub(body, -24), '(,"losses":(%d+))$')
  mark = mark or string.match(string.sub(body, -15), '(,"started":true)$')
  return mark and string.sub(body, 1, -#mark - 1) or body, tonumber(losses or 0)
end

-- What several functions of the library use of jobs; shared.lua comes before it, and its head says what holds for all of these texts.

-- What belongs to the same queue as its list of jobs: all of its keys begin alike. Functions are given that list, and find what
-- else there is of jobs beside it.
local function beside(jobs, name)
  return string.sub(jobs, 1, -5) .. name
end

-- The next one that beats reports the queue, and looks after what is due.
local function end_turns(jobs, reporter, worker)
  for _, turn in ipairs({ reporter, beside(jobs, 'turn'), beside(jobs, 'ticker') }) do
    if redis.pcall('GET', turn) == worker then redis.call('DEL', turn) end
  end
end

-- Wakes the worker that looks after what is due. It is told with each beat, too: a token of which nobody takes notice goes by itself.
local function ring_due(jobs)
  local bell = beside(jobs, 'duebell')
  if redis.call('LLEN', bell) > 0 then return end
  redis.call('RPUSH', bell, '1')
  redis.call('PEXPIRE', bell, 60000)
end

-- The record of the shards over which a queue is spread, as text; empty where it is not, or what is there is none.
local function shards_of(jobs)
  local text = redis.pcall('GET', beside(jobs, 'shards'))
  return type(text) == 'string' and #text < 100000 and text or ''
end

-- The epoch of such a record; 0 of what is none. Epochs are counted, and none is as long as a time.
local function epoch_of(record)
  local digits = string.match(record, '^{"epoch":(%d+),')
  return digits and #digits < 16 and tonumber(digits) or 0
end

-- The lists of jobs, in the order in which they are taken.
local function lists_of(jobs)
  return { jobs .. ':high', jobs, jobs .. ':low' }
end

-- What a job has beside its arguments: its `job`, an object right behind its id; nil where it has none. No text in there has a brace
-- or a bracket of its own, so that it ends where they are balanced. Nothing else is taken out: each text costs as much as the search.
local function part_of(message)
  return string.match(message, '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":(%b{})')
end

-- The same, read. It may be anything: then it is as good as none. Most of those that have a key have nothing else: to decode that took as
-- long as half of what else is done for them.
local function options_of(message)
  local part = part_of(message)
  if not part then return {} end
  local key = string.match(part, '^{"key":"([^"\\]*)"}$')
  if key then return { key = key } end
  local done, options = pcall(cjson.decode, part)
  return done and type(options) == 'table' and options or {}
end

-- The list that a job belongs into.
local function list_of(jobs, message)
  local part = part_of(message)
  if part and string.find(part, '"priority":"high"', 1, true) then return jobs .. ':high' end
  if part and string.find(part, '"priority":"low"', 1, true) then return jobs .. ':low' end
  return jobs
end

-- A job with its leading fields; one that was pushed by hand gets the id that it is held under.
local function with_lead(message, id, now)
  if string.match(message, leading) then return message end
  return string.format('{"at":%d000,"ttl":0,"id":"%s",', now, id) .. (string.match(message, '^%s*{(.*)$') or '}')
end

-- Milliseconds that somebody wrote into a job, as a number that Redis takes for a time or a life.
local function ms_of(value)
  local ms = tonumber(value)
  return ms and ms == ms and math.max(0, math.min(ms, 1e15)) or nil
end

-- For how long a job keeps others of its uniqueness away, as text.
local function unique_ms(options)
  return string.format('%.0f', math.max(1, ms_of(options.uniqueMs) or 86400000))
end

-- Notes how a tracked job fares. Somebody else's key in the place of its record costs the record alone.
local function note_job(jobs, id, options, ...)
  if options.keep then redis.pcall('HSET', beside(jobs, 'job:' .. id), ...) end
end

-- Notes when a job is not wanted any more that is due then (ms), of one that is not wanted for ever.
local function note_expiry(jobs, id, options, due, message)
  local _, ttl = string.match(message, leading)
  if ttl ~= '0' then note_job(jobs, id, options, 'expires', string.format('%.0f', due + ttl)) end
end

-- Whether a tracked job is not wanted any more. One that waits or runs goes on as if nothing were, until somebody looks.
local function is_cancelled(jobs, id, options)
  return options.keep ~= nil and redis.pcall('HGET', beside(jobs, 'job:' .. id), 'cancel') == '1'
end

-- The first time in a sorted set of times, or nil. What is somebody else's has none.
local function first_of(set)
  local head = redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES')
  local time = not head.err and tonumber(head[2]) or nil
  -- What is no time, an infinite one for example, comes never, or has come long ago.
  return time and time < 1e16 and math.max(0, time) or nil
end

-- The key that keeps others of its uniqueness away; nil for a job that has none.
local function lock_of(jobs, options)
  return type(options.unique) == 'string' and beside(jobs, 'unique:' .. options.unique) or nil
end

-- A job that is to wait holds its uniqueness. Returns the id of another one that does, which waits or runs: one without a record, that has
-- ended, or whose time to be wanted was over before it started, holds nothing.
local function hold_unique(jobs, id, options)
  local lock = lock_of(jobs, options)
  local there = lock and redis.pcall('SET', lock, id, 'NX', 'GET', 'PX', unique_ms(options))
  if type(there) ~= 'string' or there == id then return nil end
  local state, ended, expires = unpack(redis.pcall('HMGET', beside(jobs, 'job:' .. there), 'state', 'ended', 'expires'))
  local is_late = state ~= 'running' and (tonumber(expires or nil) or math.huge) <= now_ms()
  if state and not ended and not is_late then return there end
  redis.pcall('SET', lock, id, 'PX', unique_ms(options))
end

-- Others of its uniqueness may come.
local function free_unique(jobs, id, options)
  local lock = lock_of(jobs, options)
  if lock and redis.pcall('GET', lock) == id then redis.pcall('DEL', lock) end
end

-- A job has come to its end: what it kept from others is free again, and its record, if it has one, says so and goes in time.
-- Returns who waits for it: ticket, hub, ticket, hub, ...
local function end_job(jobs, id, options, state, now, ...)
  free_unique(jobs, id, options)
  local keep = ms_of(options.keep)
  if not keep then return {} end
  local record = beside(jobs, 'job:' .. id)
  local fields, waiters = redis.pcall('HGETALL', record), {}
  if fields.err then return {} end
  for i = 1, #fields, 2 do
    local ticket = string.match(fields[i], '^wait:(.+)$')
    if ticket then
      waiters[#waiters + 1] = ticket
      waiters[#waiters + 1] = fields[i + 1]
      redis.call('HDEL', record, fields[i])
    end
  end
  redis.call('HSET', record, 'state', state, 'ended', string.format('%d', now), ...)
  redis.call('PEXPIRE', record, string.format('%.0f', math.max(1, keep)))
  return waiters
end

-- A tracked job that waits is not wanted any more. Its record stays until it would be taken. Who waits for its end finds that by looking again.
local function cancel_waiting(jobs, id, options)
  local record = beside(jobs, 'job:' .. id)
  -- A life of a millisecond would be over at times before it is taken back.
  end_job(jobs, id, { keep = 60000, unique = options.unique }, 'cancelled', now_ms())
  redis.pcall('HSET', record, 'cancel', '1')
  redis.pcall('PERSIST', record)
end

-- A job with one more failure in it: how many there were, and the last ten of them. `failure` is JSON without its time and braces.
-- Its time is spliced in as text, like all else: a payload is never decoded and encoded again.
local max_failures = 10
local function with_failure(message, id, failure, now)
  local whole = with_lead(message, id, now)
  local at, ttl, own, behind = string.match(whole, leading_and_behind)
  local rest = string.sub(whole, behind)
  local part, after = string.match(rest, '^,"job":(%b{})(.*)$')
  part = part or '{}'
  local tries, failures, others = string.match(part, '^{"tries":(%d+),"errors":(%b[])(.*)}$')
  if not tries then
    tries, failures = 0, '[]'
    others = #part > 2 and ',' .. string.sub(part, 2, -2) or ''
  end
  local kept = {}
  for each in string.gmatch(string.sub(failures, 2, -2), '%b{}') do kept[#kept + 1] = each end
  kept[#kept + 1] = string.format('{"at":%d,%s}', now, failure)
  local from = math.max(1, #kept - max_failures + 1)
  local head = string.format('{"at":%s,"ttl":%s,"id":"%s"', at, ttl, own)
  local tried = string.format('"tries":%d,"errors":[', math.min(tries + 1, 1000000))
  return head .. ',"job":{' .. tried .. table.concat(kept, ',', from) .. ']' .. others .. '}' .. (after or rest)
end

-- The failure of a job that so many workers were lost with.
local function lost_failure(losses)
  return string.format('"code":"WorkerLost","message":"%d workers that ran it died"', losses)
end

-- Keeps a job that is given up. The oldest make room, and go when they are too old. Returns how many did.
local function bury(jobs, message, now, most, age_ms)
  local dead = beside(jobs, 'dead')
  redis.call('ZADD', dead, now, message)
  local old = redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - age_ms)
  return old + redis.call('ZREMRANGEBYRANK', dead, 0, -1 - most)
end

-- Jobs with a key, as several functions use them; shared-jobs.lua comes before it. Those of one task and key run one after the other,
-- in the order in which they were enqueued, whoever runs them.
--
--   line:<task>:<key>  LIST  its jobs that wait
--   keys:<task>        ZSET  key -> since when it is due (us): each that has jobs, none that runs, and nothing to wait for
--   later              ZSET  <task> <key> -> when it is due (ms): the same, where its first job waits for its time
--   running:<task>     HASH  key -> <fence> <worker> <job id>: each of which one runs
--   keyed              ZSET  task -> since when the first of its keys is due (us), +inf where none is: each that has jobs in lines, or runs one
--   lined              HASH  task -> how many jobs its lines have
--   fence              STRING  the last token that was given, for a minute
--
-- A key is in one of `keys`, `later` and `running` at most: so one job of it runs at a time, however many workers there are, and no worker
-- owns keys. What is in `keys` is taken whatever the clock says, which may have been set back. Somebody else's keys in these places cost
-- those jobs their order at most: pcall, and what is no such thing counts as empty.

local function line_of(jobs, task, key)
  return beside(jobs, 'line:' .. task .. ':' .. key)
end

-- What waits of a key in its set, where its task merges them; shared-merged.lua says what that is.
local function merged_of(jobs, task, key)
  return beside(jobs, 'merged:' .. task .. ':' .. key)
end
local function has_merged(jobs, task, key)
  return redis.call('EXISTS', merged_of(jobs, task, key)) == 1
end

-- Key and task of a job; nil for one without a key.
local function key_of(message, options)
  if type(options.key) ~= 'string' then return nil end
  local task = string.match(message, '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":%b{},"task":"([^" ]*)"')
  return task and options.key, task
end

-- Counts what comes into the lines of a task, and what leaves them.
local function count_lined(jobs, task, by)
  redis.pcall('HINCRBY', beside(jobs, 'lined'), task, by)
end

-- How many jobs there are in all lines.
local function jobs_lined(jobs)
  local counts, count = redis.pcall('HVALS', beside(jobs, 'lined')), 0
  for i = 1, counts.err and 0 or #counts do count = count + math.max(0, tonumber(counts[i]) or 0) end
  return count
end

-- Notes since when the first key of a task is due.
local function note_first(jobs, task)
  local index, lined = beside(jobs, 'keyed'), beside(jobs, 'lined')
  local first = redis.pcall('ZRANGE', beside(jobs, 'keys:' .. task), 0, 0, 'WITHSCORES')[2]
  if not first then
    local count = redis.pcall('HGET', lined, task)
    local is_empty = type(count) ~= 'string' or (tonumber(count) or 0) <= 0
    if is_empty and redis.pcall('EXISTS', beside(jobs, 'running:' .. task)) == 0 then
      redis.pcall('ZREM', index, task)
      redis.pcall('HDEL', lined, task)
      return
    end
  end
  redis.pcall('ZADD', index, first or '+inf', task)
end

-- The task whose key has been due for the longest, since when (us), and whether keys of others are due; nil when none is.
local function first_keyed(jobs)
  local first = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, 1, 'WITHSCORES')
  local since, other = tonumber(first[2]), tonumber(first[4])
  if since and since < 1e19 then return first[1], since, other ~= nil and other < 1e19 end
end

-- How many keys are due.
local function keys_due(jobs)
  local count, tasks = 0, redis.pcall('ZRANGE', beside(jobs, 'keyed'), '-inf', '(+inf', 'BYSCORE')
  for i = 1, tasks.err and 0 or #tasks do
    local due = redis.pcall('ZCARD', beside(jobs, 'keys:' .. tasks[i]))
    if type(due) == 'number' then count = count + due end
  end
  return count
end

-- What a step that brings many jobs notes of a task is written once: `step`, a table of that step, remembers it. Without one it is written now.
local function of_step(step, task)
  step.tasks = step.tasks or {}
  step.tasks[task] = step.tasks[task] or { count = 0 }
  return step.tasks[task]
end

-- Notes that a key of a task is due since then.
local function note_task(jobs, task, since, step)
  local known = step and of_step(step, task)
  if known and known.since and known.since <= since then return end
  if known then known.since = since end
  redis.pcall('ZADD', beside(jobs, 'keyed'), 'LT', string.format('%.0f', since), task)
end

-- Counts one more of what waits of a task's keys.
local function count_come(jobs, task, step)
  local known = step and of_step(step, task)
  if not known or known.count == 0 then redis.pcall('ZADD', beside(jobs, 'keyed'), 'NX', '+inf', task) end
  if known then known.count = known.count + 1 else count_lined(jobs, task, 1) end
end

-- Writes what a step has counted.
local function count_step(jobs, step)
  for task, known in pairs(step.tasks or {}) do
    if known.count > 0 then count_lined(jobs, task, known.count) end
    known.count = 0
  end
end

-- A key of which none runs can be taken from now on, or when its first job is due (ms), unless something else is known of it already.
-- Returns false where something else has the name of that; and whether nothing was known of it.
local function stand(jobs, task, key, since, due, step)
  local keys, later = beside(jobs, 'keys:' .. task), beside(jobs, 'later')
  local member = task .. ' ' .. key
  if due then
    if type(redis.pcall('ZSCORE', keys, key)) == 'string' then return true end
    local added = redis.pcall('ZADD', later, 'NX', string.format('%.0f', due), member)
    return type(added) == 'number', added == 1
  end
  if type(redis.pcall('ZSCORE', later, member)) == 'string' then return true end
  local added = redis.pcall('ZADD', keys, 'NX', string.format('%.0f', since), key)
  if added == 1 then note_task(jobs, task, since, step) end
  return type(added) == 'number', added == 1
end

-- Puts a job at the end of its line. `due`: when (ms), of one whose time is still to come. False where that cannot be, because something
-- else has one of these names.
local function line_up(jobs, task, key, text, since, due, step)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) ~= 1 and not stand(jobs, task, key, since, due, step) then return false end
  -- A key without a line goes as soon as somebody takes it.
  if type(redis.pcall('RPUSH', line_of(jobs, task, key), text)) ~= 'number' then return false end
  count_come(jobs, task, step)
  return true
end

-- Whether a key runs for another job: that of this one was taken for lost.
local function is_another(holder, id)
  return type(holder) == 'string' and string.sub(holder, -#id - 1) ~= ' ' .. id
end

-- Lua hands no more than 8000 words to a command.
local most_words = 4000

-- Keys of a task of which none runs any more. The next job of each is due when that says so, and behind those of all keys that are due by now.
local function free_keys(jobs, task, freed, is_run)
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), unpack(freed))
  local now, due = tonumber(now_us_text()), {}
  for _, key in ipairs(freed) do
    -- Nothing waits of most keys whose payloads have just been run.
    local is_empty = is_run and redis.call('EXISTS', line_of(jobs, task, key), merged_of(jobs, task, key)) == 0
    local head = not is_empty and redis.pcall('LINDEX', line_of(jobs, task, key), 0)
    if type(head) == 'string' then
      local at = tonumber(string.match(head, '^{"at":(%d+)')) or 0
      local options = at > now and options_of(head) or {}
      -- What came before the clock was set back has to wait for nothing.
      if options.due or options.delay or options.tries then
        stand(jobs, task, key, now, math.ceil(at / 1000))
        ring_due(jobs)
      else
        due[#due + 1] = string.format('%.0f', now)
        due[#due + 1] = key
      end
    else
      if not is_empty and has_merged(jobs, task, key) then
        local at = tonumber(redis.pcall('HGET', beside(jobs, 'next:' .. task), key) or nil)
        redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
        stand(jobs, task, key, now, at and at * 1000 > now and at or nil)
        if at then ring_due(jobs) end
      end
    end
  end
  if due[1] then redis.pcall('ZADD', beside(jobs, 'keys:' .. task), 'NX', unpack(due)) end
  note_first(jobs, task)
end

-- The first job of a key is not in its line any more, and was not taken either: the next one is due when that says so.
local function leave_head(jobs, task, key)
  count_lined(jobs, task, -1)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) == 1 then return end
  redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. key)
  redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)
  free_keys(jobs, task, { key })
end

-- Jobs with keys have come to their ends, or let others pass: by task, { id, key, id, key, ... }. Some after the other: see `most_words`.
local function leave_lines(jobs, leaving, is_run)
  for task, pairs_of in pairs(leaving) do
    for from = 0, #pairs_of - 1, most_words do
      local keys, freed = {}, {}
      for i = from + 2, math.min(from + most_words, #pairs_of), 2 do keys[#keys + 1] = pairs_of[i] end
      local holders = redis.pcall('HMGET', beside(jobs, 'running:' .. task), unpack(keys))
      for i = 1, #keys do
        if holders.err or not is_another(holders[i], pairs_of[from + i * 2 - 1]) then freed[#freed + 1] = keys[i] end
      end
      if freed[1] then free_keys(jobs, task, freed, is_run) end
    end
  end
end

-- Notes that one of them has.
local function leaves(leaving, id, message, options)
  local key, task = key_of(message, options)
  if not key then return end
  local of_task = leaving[task] or {}
  of_task[#of_task + 1] = id
  of_task[#of_task + 1] = key
  leaving[task] = of_task
end

-- Puts a job that was taken back to the head of its line, where it is due as before, or at a time (ms). False for one that has no key, or
-- no line any more.
local function come_back(jobs, id, message, options, due)
  local key, task = key_of(message, options)
  if not key or type(redis.pcall('LPUSH', line_of(jobs, task, key), message)) ~= 'number' then return false end
  count_lined(jobs, task, 1)
  if is_another(redis.pcall('HGET', beside(jobs, 'running:' .. task), key), id) then return true end
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), key)
  stand(jobs, task, key, tonumber(string.match(message, '^{"at":(%d+)')), due)
  return true
end

-- For so long the last token is known, should the clock be set back, or that of another server be behind.
local fence_memory = 60000

-- A token for each of some runs: the first one of so many that follow each other, all higher than those before them, of any key.
local function next_fence(jobs, count)
  local last = redis.pcall('GET', beside(jobs, 'fence'))
  last = type(last) == 'string' and tonumber(last) or 0
  -- Behind such a number none can be told from the next: it is somebody else's.
  if not (last < 9e15) then last = 0 end
  local first = math.max(tonumber(now_us_text()), last + 1)
  redis.pcall('SET', beside(jobs, 'fence'), string.format('%.0f', first + count - 1), 'PX', fence_memory)
  return first
end

-- Keys whose time has come, as many as are wanted. Returns how many these were.
local function stand_due(jobs, most)
  local later = beside(jobs, 'later')
  local found = redis.pcall('ZRANGEBYSCORE', later, '-inf', string.format('%d', now_ms()), 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, found.err and 0 or #found, 2 do
    redis.call('ZREM', later, found[i])
    local task, key = string.match(found[i], '^(%S*) (.*)$')
    if task and redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) ~= 1 then stand(jobs, task, key, found[i + 1] * 1000) end
  end
  return found.err and 0 or #found / 2
end

-- Keys that run for longer than this are looked after: their job may have gone without a word.
local checked_after = 5000000

-- Frees keys that run in nobody's hands: what was held is no message, or somebody deleted it. Returns how many.
local function free_orphans(jobs)
  local freed, before = 0, tonumber(now_us_text()) - checked_after
  local tasks = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, -1)
  for _, task in ipairs(tasks.err and {} or tasks) do
    local running = redis.pcall('HGETALL', beside(jobs, 'running:' .. task))
    for i = 1, running.err and 0 or #running, 2 do
      local fence, worker, id = string.match(running[i + 1], '^(%d+) ([%w_-]+) ([%w_-]+)$')
      local is_held = false
      if fence then
        local held = beside(jobs, 'held:' .. worker)
        -- A token of the future is one of before the clock was set back.
        local is_young = tonumber(fence) > before and tonumber(fence) < before + 2 * checked_after
        is_held = is_young or redis.pcall('HEXISTS', held, 'job:' .. id) == 1 or redis.pcall('HEXISTS', held, 'lost:job:' .. id) == 1
      end
      if not is_held then
        free_keys(jobs, task, { running[i] })
        -- With its payloads how they failed is of no use.
        if not has_merged(jobs, task, running[i]) then redis.pcall('HDEL', beside(jobs, 'tried:' .. task), running[i]) end
        freed = freed + 1
      end
    end
  end
  return freed
end

-- How keys fare: how many wait that are due or whose time is to come, how many run, and since when the one that has run for the longest does (us,
-- as text; empty when none runs). Tokens are times, or follow those closely.
local function key_figures(jobs)
  local waiting, running, first = redis.pcall('ZCARD', beside(jobs, 'later')), 0, nil
  waiting = (type(waiting) == 'number' and waiting or 0) + keys_due(jobs)
  local tasks = redis.pcall('ZRANGE', beside(jobs, 'keyed'), 0, -1)
  for _, task in ipairs(tasks.err and {} or tasks) do
    local runs = redis.pcall('HVALS', beside(jobs, 'running:' .. task))
    for i = 1, runs.err and 0 or #runs do
      local fence = tonumber(string.match(runs[i], '^%d+'))
      running = running + 1
      if fence and (not first or fence < first) then first = fence end
    end
  end
  return waiting, running, first and string.format('%.0f', first) or ''
end

-- Merged jobs, as several functions use them; shared-keyed.lua comes before it. What waits of a key is a set of payloads, each of them once,
-- and one run takes those of several keys.
--
--   merged:<task>:<key>  ZSET  payload (JSON) -> score: what waits of a key
--   tried:<task>         HASH  key -> {"tries":<n>,"errors":[...],"losses":<n>}: how its runs failed so far; absent for a key that has not
--   next:<task>          HASH  key -> when what came while it runs is due (ms), unless that is at once
--   scores               HASH  task -> first, where the score that a payload came with first counts, and not the last one; last where it did
--
-- A job that waits, or is dead, has one payload:  ..."job":{"key":"<key>","merged":true,"score":<n>},"task":"<task>","args":<payload>}
-- A run is held like any job, and has all it took:  {"at":<us>,"ttl":0,"id":"m-<fence>",
--   "job":{"fence":<fence>,"run":[[<key>,<tries>,[<bytes>,<score>,...]],...]},"task":"<task>","args":[<payload>,...]}
-- Its payloads are in the order of its keys, the lowest score of each first; how many bytes each has says where it ends, so that none is
-- ever decoded and encoded again. Rules: Lowkiq (https://github.com/bia-technologies/lowkiq), which merges payloads of one id so.

local merged_args = '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":%b{},"task":"([^" ]*)","args":()'

-- Task and payload of a merged job; nil for any other.
local function payload_of(text, options)
  if options.merged ~= true or type(options.key) ~= 'string' then return nil end
  local task, from = string.match(text, merged_args)
  if task then return task, string.sub(text, from, -2) end
end

-- A score that can be one; nil for anything else.
local function finite(score)
  return type(score) == 'number' and math.abs(score) <= 1e300 and score or nil
end

-- A score as JSON: an infinite one, which only somebody else can have put there, is none.
local function score_text(score)
  return string.find(score, '^-?%d') and score or '0'
end

-- What a message of a run took: its task, and { key =, tries =, payloads = {}, scores = {} } of each key, or the keys alone; nil for any other
-- message.
local function run_of(message, options, keys_only)
  if type(options.run) ~= 'table' then return nil end
  local task, from = string.match(message, merged_args .. '%[')
  if not task then return nil end
  local run = {}
  from = from + 1
  for i, each in ipairs(options.run) do
    if type(each) ~= 'table' or type(each[1]) ~= 'string' or type(each[3]) ~= 'table' then return nil end
    local key, payloads, scores = each[1], {}, {}
    for k = 1, keys_only and 0 or #each[3] - 1, 2 do
      local bytes, score = tonumber(each[3][k]), finite(tonumber(each[3][k + 1]))
      if not bytes or not score then return nil end
      payloads[#payloads + 1] = string.sub(message, from, from + bytes - 1)
      scores[#scores + 1] = string.format('%.17g', score)
      from = from + bytes + 1
    end
    run[i] = { key = key, tries = tonumber(each[2]) or 0, payloads = payloads, scores = scores }
  end
  return task, run
end

-- As JSON in a job's part, in which no text has a bracket or a brace of its own.
local function json_text(text)
  if not string.find(text, '[^%w_.:@/ -]') then return '"' .. text .. '"' end
  return (string.gsub(cjson.encode(text), '[%[%]{}]', function(char) return string.format('\\u%04x', string.byte(char)) end))
end

-- Whether of equal payloads the score of the first enqueue counts, and not that of the last one.
local function counts_first(jobs, task)
  return redis.pcall('HGET', beside(jobs, 'scores'), task) == 'first'
end

-- Merges payloads into what waits of a key: scores and payloads in turn. `stays`: of equal ones the score counts that is there. Returns 1
-- when none was there, else 0; nil where something else has that name.
local function merge(jobs, task, key, scored, stays, step)
  local set = merged_of(jobs, task, key)
  local before = redis.pcall('ZCARD', set)
  if type(before) ~= 'number' then return nil end
  for from = 1, #scored, most_words do
    local last = math.min(from + most_words - 1, #scored)
    if stays and before > 0 then
      redis.call('ZADD', set, 'NX', unpack(scored, from, last))
    else
      redis.call('ZADD', set, unpack(scored, from, last))
    end
  end
  if before > 0 then return 0 end
  count_come(jobs, task, step)
  return 1
end

-- Puts a merged job to what waits of its key. What waits already keeps its time. False where that cannot be, because something else has one
-- of these names.
local function merge_new(jobs, at, text, options, due, added)
  local task, payload = payload_of(text, options)
  if not task then return false end
  added.merged = (added.merged or 0) + 1
  local is_first = options.scores == 'first'
  local known = of_step(added, task)
  if known.is_first == nil then known.is_first = counts_first(jobs, task) end
  if is_first ~= known.is_first then redis.pcall('HSET', beside(jobs, 'scores'), task, is_first and 'first' or 'last') end
  known.is_first = is_first
  -- Before it merges: what cannot stand anywhere is not to wait there. A key that stands nowhere, for whatever reason, stands again.
  local is_running = redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), options.key) == 1
  local stands, is_placed = is_running, false
  if not is_running then stands, is_placed = stand(jobs, task, options.key, at, due, added) end
  if not stands then return false end
  -- One step takes longer than a microsecond for each of them: these grow from step to step, too.
  local score = finite(options.score) or at + added.merged
  local is_new = merge(jobs, task, options.key, { string.format('%.17g', score), payload }, is_first, added)
  if not is_new then return false end
  -- Behind a job of before its task merged them, or a run: it keeps its own time.
  if due and is_new == 1 and (is_running or redis.pcall('EXISTS', line_of(jobs, task, options.key)) == 1) then
    redis.pcall('HSET', beside(jobs, 'next:' .. task), options.key, string.format('%.0f', due))
  end
  if is_placed and due then added.later = math.min(due, added.later or due) end
  if is_placed and not due then added.is_due = true end
  return true
end

-- Notes that a run has come to its end, for leave_lines().
local function leave_run(leaving, id, task, keys)
  local of_task = leaving[task] or {}
  for _, key in ipairs(keys) do
    of_task[#of_task + 1] = id
    of_task[#of_task + 1] = key
  end
  leaving[task] = of_task
end

-- Puts a dead payload back to what waits of its key: due now, and as if it had never failed. False for what is no merged job.
local function revive_merged(jobs, text, options)
  local task, payload = payload_of(text, options)
  if not task then return false end
  local now = tonumber(now_us_text())
  local scored = { string.format('%.17g', finite(options.score) or now), payload }
  if not merge(jobs, task, options.key, scored, not counts_first(jobs, task)) then return false end
  redis.pcall('HDEL', beside(jobs, 'next:' .. task), options.key)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), options.key) == 1 then return true end
  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), options.key)
  redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. options.key)
  return stand(jobs, task, options.key, now)
end

-- Scores and payloads of a key of a run, but for one of them.
local function scored_of(each, without)
  local scored = {}
  for i = 1, #each.payloads do
    if i ~= without then
      scored[#scored + 1] = each.scores[i]
      scored[#scored + 1] = each.payloads[i]
    end
  end
  return scored
end

-- Where something else has the name of what waits of a key, its payloads wait one by one, as jobs.
local function go_alone(jobs, id, task, key, scored)
  for i = 1, #scored, 2 do
    local part = string.format('{"key":%s,"merged":true,"score":%s}', json_text(key), scored[i])
    local head = string.format('{"at":%s,"ttl":0,"id":"%s-%s","job":%s', now_us_text(), id, i, part)
    redis.call('RPUSH', jobs, head .. ',"task":"' .. task .. '","args":' .. scored[i + 1] .. '}')
  end
end

-- A key of a run that has ended waits again, with what comes back and what came meanwhile: due since a time (us), or at one (ms).
local function wait_again(jobs, id, task, key, scored, since, due)
  if scored[1] and not merge(jobs, task, key, scored, not counts_first(jobs, task)) then go_alone(jobs, id, task, key, scored) end
  if is_another(redis.pcall('HGET', beside(jobs, 'running:' .. task), key), id) then return end
  redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), key)
  if has_merged(jobs, task, key) then stand(jobs, task, key, since, due) end
end

-- Puts back what a run took, due as it was. False for what is no run.
local function run_back(jobs, id, message, options)
  local task, run = run_of(message, options)
  if not task then return false end
  for _, each in ipairs(run) do
    wait_again(jobs, id, task, each.key, scored_of(each), tonumber(string.match(message, '^{"at":(%d+)')))
  end
  note_first(jobs, task)
  return true
end

-- How the runs of a key failed so far: its count of them, and the part of a message that says so.
local function tried_of(jobs, task, key)
  local part = redis.pcall('HGET', beside(jobs, 'tried:' .. task), key)
  part = type(part) == 'string' and part or '{}'
  return part, options_of('{"at":0,"ttl":0,"id":"x","job":' .. part)
end

-- The same with one more failure.
local function tried_again(jobs, task, key, failure, now)
  local part = tried_of(jobs, task, key)
  return part_of(with_failure('{"at":0,"ttl":0,"id":"x","job":' .. part .. '}', 'x', failure, now))
end

-- The payload of this place in a key of a run is given up: a dead job of its own. `tried`: how its runs failed.
local function payload_dead(id, task, each, place, tried, now)
  local errors = string.match(tried, '^({"tries":%d+,"errors":%b[])') or '{"tries":0,"errors":[]'
  local part = string.format('%s,"key":%s,"merged":true,"score":%s}', errors, json_text(each.key), each.scores[place])
  return string.format('{"at":%.0f000,"ttl":0,"id":"%s","job":%s,"task":"%s","args":%s}', now, id, part, task, each.payloads[place])
end

-- Gives up one payload of a key; its others wait again from now on, as if they had never failed. Returns how many of the dead made room,
-- and the dead one.
local function give_up_payload(jobs, id, number, task, each, place, tried, now, most, age_ms)
  local message = payload_dead(id .. '-' .. number, task, each, place, tried, now)
  local dropped = bury(jobs, message, now, most, age_ms)
  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), each.key)
  wait_again(jobs, id, task, each.key, scored_of(each, place), now * 1000)
  return dropped, message
end

-- What becomes of the keys of a run that did not end well, one word for each: r<ms>, it failed and is tried again after that; d<place>, it
-- failed, and the payload of that place is given up; x<place>, the same of one that is no JSON, which is kept as a text; b<ms>, it was not run,
-- and comes back after that. Returns how many dead jobs made room.
local function end_run(jobs, id, task, run, words, failure, now, most, age_ms)
  local number, dropped = 0, 0
  for word, count in string.gmatch(words, '(%a)(%d+)') do
    number = number + 1
    local each = run[number]
    if not each then break end
    if (word == 'd' or word == 'x') and each.payloads[count + 0] then
      if word == 'x' then each.payloads[count + 0] = cjson.encode(each.payloads[count + 0]) end
      local tried = tried_again(jobs, task, each.key, failure, now)
      dropped = dropped + give_up_payload(jobs, id, number, task, each, count + 0, tried, now, most, age_ms)
    else
      if word == 'r' then redis.pcall('HSET', beside(jobs, 'tried:' .. task), each.key, tried_again(jobs, task, each.key, failure, now)) end
      local due = count ~= '0' and now + count or nil
      wait_again(jobs, id, task, each.key, scored_of(each), now * 1000, due)
    end
  end
  for i = number + 1, #run do wait_again(jobs, id, task, run[i].key, scored_of(run[i]), now * 1000) end
  note_first(jobs, task)
  return dropped
end

-- The worker of a run was lost: each of its keys counts that, and is tried again until so many workers were lost with it. Returns the dead.
local function run_lost(jobs, id, task, run, at, most_losses, now, most, age_ms)
  local dead = {}
  for number, each in ipairs(run) do
    local part, state = tried_of(jobs, task, each.key)
    local losses = (tonumber(state.losses) or 0) + 1
    if losses < most_losses or not each.payloads[1] then
      local errors = string.match(part, '^({"tries":%d+,"errors":%b[])') or '{"tries":0,"errors":[]'
      redis.pcall('HSET', beside(jobs, 'tried:' .. task), each.key, string.format('%s,"losses":%d}', errors, losses))
      wait_again(jobs, id, task, each.key, scored_of(each), at)
    else
      local tried = tried_again(jobs, task, each.key, lost_failure(losses), now)
      local _, message = give_up_payload(jobs, id, number, task, each, 1, tried, now, most, age_ms)
      dead[#dead + 1] = message
    end
  end
  note_first(jobs, task)
  return dead
end

-- How a run of merged jobs is taken; shared-merged.lua comes before it, and says what a run is.

-- So many payloads are taken blindly at first. How many more at once, the largest of those says: what turns out to be too much goes back.
local first_payloads = 8

-- What each of them costs beside its bytes, in bytes of others: 2,500 of them take Redis some milliseconds.
local payload_bytes = 400

-- Takes the payloads of the lowest scores of a key: so many at most, and not more than so many bytes, which one of them may exceed. Returns
-- them, their sizes and scores as JSON, their bytes, and whether none is left; nil when the key has none.
local function take_payloads(jobs, task, key, most, bytes)
  local set, payloads, sizes, total, largest = merged_of(jobs, task, key), {}, {}, 0, 1
  local page, is_over = math.min(first_payloads, most), false
  while page > 0 and not is_over do
    local popped = redis.pcall('ZPOPMIN', set, page)
    local count = popped.err and 0 or #popped / 2
    for i = 1, count * 2, 2 do
      if is_over then
        redis.call('ZADD', set, popped[i + 1], popped[i])
      else
        payloads[#payloads + 1] = popped[i]
        sizes[#sizes + 1] = #popped[i] .. ',' .. score_text(popped[i + 1])
        total = total + #popped[i] + payload_bytes
        largest = math.max(largest, #popped[i] + payload_bytes)
        is_over = total >= bytes
      end
    end
    if count < page then break end
    page = math.min(most - #payloads, math.max(1, math.floor((bytes - total) / largest)))
  end
  if not payloads[1] then return nil end
  -- Whoever took all that was there need not look whether there is more.
  local is_all = #payloads < math.min(first_payloads, most) and not is_over or not has_merged(jobs, task, key)
  return payloads, table.concat(sizes, ','), total, is_all
end

-- Takes one run of keys that are due, `found` from `from` on: key, since when, key, since when, ...; `states`: how each of them failed so
-- far. `rule`: how many keys and payloads at most. One that a worker was lost with runs alone: so it takes no others along when it is given
-- up. Returns its message, its id, its keys, and which of `found` is next. Adds to `others` which of them have no payloads.
local function take_run(jobs, task, found, from, rule, bytes, states, fence, others)
  local parts, args, keys, at, used, emptied = {}, {}, {}, nil, 0, 0
  while found[from] and #keys < rule.batch and (used < bytes or not keys[1]) do
    local key, state = found[from], states[(from + 1) / 2]
    local is_alone = state and string.find(state, '"losses"', 1, true)
    if is_alone and keys[1] then break end
    local payloads, sizes, size, is_all = take_payloads(jobs, task, key, rule.payloads, bytes - used)
    if payloads then
      keys[#keys + 1] = key
      local tries = math.min(1000000, tonumber(state and string.match(state, '^{"tries":(%d+)') or 0))
      parts[#parts + 1] = string.format('[%s,%d,[', json_text(key), tries) .. sizes .. ']]'
      args[#args + 1] = table.concat(payloads, ',')
      at = at or string.format('%.0f', math.max(0, math.min(1e16, tonumber(found[from + 1]))))
      used = used + size
      if is_all then emptied = emptied + 1 end
    else
      others[#others + 1] = key
      others[#others + 1] = found[from + 1]
    end
    from = from + 2
    if is_alone and payloads then break end
  end
  if not keys[1] then return nil, nil, keys, from end
  if emptied > 0 then count_lined(jobs, task, -emptied) end
  local id = 'm-' .. fence
  local part = '{"fence":' .. fence .. ',"run":[' .. table.concat(parts, ',') .. ']}'
  local head = '{"at":' .. at .. ',"ttl":0,"id":"' .. id .. '","job":' .. part .. ',"task":"' .. task
  return head .. '","args":[' .. table.concat(args, ',') .. ']}', id, keys, from
end

-- How jobs come, wait and come back, as several functions use it; shared-jobs.lua and shared-keyed.lua come before it.

-- A job waits again: until it starts it keeps others of its uniqueness away, unless one of them came while it ran. `...`: what its record says.
local function wait_again(jobs, id, options, ...)
  if options['until'] == 'started' then hold_unique(jobs, id, options) end
  note_job(jobs, id, options, ...)
end

-- Puts a job back at the head of its list, as if it had not been taken; one with a key at the head of its line.
local function return_job(jobs, id, message, side)
  local options = options_of(message)
  if run_back(jobs, id, message, options) then return end
  if not options.key or not come_back(jobs, id, message, options) then
    redis.call(side or 'LPUSH', list_of(jobs, message), message)
  end
  if is_cancelled(jobs, id, options) then return cancel_waiting(jobs, id, options) end
  wait_again(jobs, id, options, 'state', 'waiting')
end

-- Puts a job behind all others of its list, or of its key.
local function line_up_again(jobs, message, options)
  if revive_merged(jobs, message, options) then return end
  local key, task = key_of(message, options)
  if key and line_up(jobs, task, key, message, tonumber(now_us_text())) then return end
  redis.call('RPUSH', list_of(jobs, message), message)
end

-- Puts a job whose time has come where it waits to be taken.
local function arrive_late(jobs, id, message)
  local options = options_of(message)
  line_up_again(jobs, message, options)
  if not is_cancelled(jobs, id, options) then note_job(jobs, id, options, 'state', 'waiting') end
end

-- How many jobs wait to be taken: of each key that is due one.
local function jobs_waiting(jobs)
  local count = keys_due(jobs)
  for _, list in ipairs(lists_of(jobs)) do count = count + redis.call('LLEN', list) end
  return count
end

-- Wakes a worker for jobs that wait. Where none does nobody may be there to take a token, and it would stay.
local function ring_for_jobs(jobs, bell)
  if jobs_waiting(jobs) > 0 then ring(bell) else redis.call('DEL', bell) end
end

-- When the first of those jobs is due that wait for their time, Redis milliseconds; nil when none waits.
local function next_due(jobs)
  local first
  for _, name in ipairs({ 'scheduled', 'retries', 'later' }) do
    local time = first_of(beside(jobs, name))
    if time and (not first or time < first) then first = time end
  end
  return first
end

-- Puts jobs where they wait for their time (when it comes, job, when, job, ...), and wakes a worker that sets its clock by the first
-- of them when all others are later.
local function postpone(jobs, name, later)
  local first, before = later[1], next_due(jobs)
  for i = 3, #later, 2 do first = math.min(first, later[i]) end
  redis.call('ZADD', beside(jobs, name), unpack(later))
  if not before or first < before then ring_due(jobs) end
end

-- An error of these, which somebody else's keys cause, is to come before anything was changed.
local function try_lists(jobs, bell)
  for _, list in ipairs(lists_of(jobs)) do redis.call('LLEN', list) end
  redis.call('LLEN', bell)
  redis.call('LLEN', beside(jobs, 'duebell'))
  redis.call('ZCARD', beside(jobs, 'scheduled'))
end

-- One command for all that go into a list: one for each was a third of what it costs Redis to enqueue many.
local function waits(added, list, text)
  added.waiting = added.waiting or {}
  local texts = added.waiting[list] or {}
  texts[#texts + 1] = text
  added.waiting[list] = texts
end

-- Puts a job with a key to those of its key. False where it has to do without.
local function line_up_new(jobs, text, options, since, due, added)
  if merge_new(jobs, since, text, options, due, added) then return true end
  local key, task = key_of(text, options)
  if not key or not line_up(jobs, task, key, text, since, due, added) then return false end
  if due then added.later = math.min(due, added.later or due) else added.is_due = true end
  return true
end

-- The record of a tracked job that comes.
local function begin_record(jobs, id, text, options, state, now, due)
  if not options.keep then return end
  local task = string.match(text, '"job":%b{},"task":"([^"]*)"')
  note_job(jobs, id, options, 'state', state, 'task', task or '', 'enqueued', string.format('%d', now),
    'due', string.format('%d', due), 'unique', options.unique or '')
  if options.key then note_job(jobs, id, options, 'key', options.key) end
  note_expiry(jobs, id, options, due, text)
  if type(options.steps) == 'table' then note_job(jobs, id, options, 'chain', options.chain, 'steps', cjson.encode(options.steps)) end
  -- Somebody may wait for it already.
  redis.pcall('PERSIST', beside(jobs, 'job:' .. id))
end

-- Puts one job into its queue, unless one of the same uniqueness is there, whose id is returned, or it was cancelled before it came.
-- The batch of one that is there waits for that one's end. What is to be done with a job its `job` says: `due` (Redis ms) or `delay` (ms),
-- `priority`, `unique` with `uniqueMs`, `keep`. A job that is not due yet has its due time as its `at`. `message`: without its `at`.
-- `added`: those of one step, for which arrive() is to be called; with `follows` where somebody may wait for them already.
local function add_job(jobs, at, message, added)
  local text = '{"at":' .. at .. ',' .. message
  if not string.find(message, '^"ttl":%d+,"id":"[%w_-]+","job":{') then return waits(added, jobs, text) end
  local now, id, options = math.floor(at / 1000), string.match(message, '"id":"([%w_-]+)"'), options_of(text)
  if is_cancelled(jobs, id, options) then return nil end
  local there = hold_unique(jobs, id, options)
  if there then
    -- Nobody is to wait for what never comes.
    if options.chain or added.follows then end_job(jobs, id, { keep = options.keep }, 'cancelled', now) end
    if type(options.batch) == 'string' then redis.pcall('HSET', beside(jobs, 'job:' .. there), 'batch:' .. options.batch, '1') end
    return there
  end
  local due = ms_of(options.due) or now + (ms_of(options.delay) or 0)
  begin_record(jobs, id, text, options, due > now and 'scheduled' or 'waiting', now, due)
  if due > now then text = string.format('{"at":%d000,', due) .. message end
  if options.key and line_up_new(jobs, text, options, tonumber(at), due > now and due, added) then return nil end
  if due > now then
    added[#added + 1] = due
    added[#added + 1] = text
    return nil
  end
  waits(added, list_of(jobs, text), text)
end

-- Puts the jobs of one step into their lists, and those away that wait for their time, and tells workers of them.
local function arrive(jobs, bell, added)
  count_step(jobs, added)
  for list, texts in pairs(added.waiting or {}) do redis.call('RPUSH', list, unpack(texts)) end
  if added.waiting then ring(bell) end
  if added.is_due then ring(bell) end
  -- A worker sets its clock by the first of them.
  if added.later and added.later <= (next_due(jobs) or 0) then ring_due(jobs) end
  if added[1] then postpone(jobs, 'scheduled', added) end
end

-- Ends a batch of which all have ended.
local function complete_batch(jobs, bell, batch)
  local record = beside(jobs, 'batch:' .. batch)
  local total, done, dead, after, failed = unpack(redis.call('HMGET', record, 'total', 'done', 'dead', 'then', 'failed'))
  done, dead = tonumber(done or 0), tonumber(dead or 0)
  if not total or done + dead < tonumber(total) or redis.call('HSETNX', record, 'ended', now_ms()) == 0 then return end
  local message = dead > 0 and failed ~= '' and failed or after
  local added = { follows = true }
  if message ~= '' then add_job(jobs, now_us_text(), message, added) end
  arrive(jobs, bell, added)
  redis.call('DEL', beside(jobs, 'ended:' .. batch))
  redis.call('PEXPIRE', record, 3600000)
end

-- One of a batch has ended. Each counts once, however often it is told. What is to follow the last one is put into the queue of the batch.
local function tally(jobs, bell, batch, id, how)
  local record = beside(jobs, 'batch:' .. batch)
  local ended = beside(jobs, 'ended:' .. batch)
  -- Somebody else's keys in their places cost the batch alone.
  local opened, is_over = unpack(redis.pcall('HMGET', record, 'opened', 'ended'))
  if not opened or is_over or redis.pcall('SADD', ended, id) ~= 1 then return end
  -- Until it is closed both go together.
  local left = redis.pcall('PTTL', record)
  if type(left) == 'number' and left > 0 then redis.pcall('PEXPIRE', ended, left) end
  redis.pcall('HINCRBY', record, how == 'done' and 'done' or 'dead', 1)
  complete_batch(jobs, bell, batch)
end

-- What is to be done in another queue once something ended here: it is held like a request until it is done there, so that it survives
-- the worker. As out:<queue>:<id>; returned are these two, for the worker to do it.
local function send_out(held, outs, queue, id, text)
  local held_id = 'out:' .. queue .. ':' .. id
  redis.call('HSET', held, held_id, text)
  outs[#outs + 1] = held_id
  outs[#outs + 1] = text
end

-- The batches that wait for the end of a job, its own and those of its twins: of this queue, and of others { queue, batch, what tells it }.
local function batches_of(jobs, id, options)
  local here, elsewhere = {}, {}
  local function note(text, telling)
    local queue, batch = string.match(text, '^([%w_.-]+)/([%w_-]+)$')
    if queue == string.match(jobs, '{(.-)}') then
      here[#here + 1] = batch
    else
      if queue then elsewhere[#elsewhere + 1] = { queue, batch, telling or id .. '-' .. batch } end
    end
  end
  if type(options.batch) == 'string' then note(options.batch, id) end
  local fields = lock_of(jobs, options) and redis.pcall('HKEYS', beside(jobs, 'job:' .. id)) or {}
  for _, field in ipairs(fields) do
    local other = string.match(field, '^batch:(.+)$')
    if other and other ~= options.batch then note(other) end
  end
  return here, elsewhere
end

-- Tells the batches of a job, here or in other queues, that it has ended.
local function tally_of(jobs, bell, held, outs, id, options, how)
  local here, elsewhere = batches_of(jobs, id, options)
  for _, batch in ipairs(here) do tally(jobs, bell, batch, id, how) end
  for _, each in ipairs(elsewhere) do
    send_out(held, outs, each[1], each[3], 'tally ' .. each[2] .. ' ' .. id .. ' ' .. how)
  end
end


-- A beat, as beat.lua and beats.lua use it; shared-jobs.lua, shared-keyed.lua, shared-runs.lua and shared-arrivals.lua come before it.

-- A lease that ended is renewed all the same as long as nobody adopted from this worker (adopting sets it to 0 and then removes it): an
-- outage of Redis itself costs no worker its identity. Whoever adopts leaves nothing here before it removes the lease; so what is held
-- without one lost it with the whole key, and nobody else would ever look for that.
-- An extension by a claim stays.
-- A lease that ends later than any beat or claim can have set it shows that Redis' clock was set back. Whoever renews first then moves all
-- others back as far; else nobody would adopt from those who died just then before the clock is where it was.
-- Foreign keys must not cost the lease: commands that the lease does not need run with pcall.
-- One worker of a queue reports: whoever beats first while nobody does, until it stops beating. The same holds for due jobs and for
-- schedules; two workers at once, or none for a moment, cost only time.
-- Nobody claims without a lease, and nobody gets one without being told of a pause.
-- Thousands of workers beat each second, and the commands here cost less than the call: each command more, and each number that is not
-- turned into text here, which Redis does by way of all its digits.
local function beat_of(keys, args)
  local now_text = now_us_text()
  local now_ms = string.sub(now_text, 1, -4)
  local now = tonumber(now_ms)

  local ends, longest = now + args[2], now + args[2] + longest_claim
  if args[3] == '0' then
    local lease = redis.call('ZSCORE', keys[1], args[1])
    local held = not lease and redis.pcall('HLEN', keys[6])
    if lease and tonumber(lease) == 0 or held and (type(held) ~= 'number' or held == 0) then
      return { now_text, 0, {}, {}, {} }
    end
    lease = tonumber(lease or 0)
    if lease > longest then
      local back = lease - longest
      local others = redis.call('ZRANGEBYSCORE', keys[1], string.format('(%.0f', now + back), '+inf', 'WITHSCORES')
      for i = 1, #others, 2 do
        redis.call('ZADD', keys[1], string.format('%.0f', others[i + 1] - back), others[i])
      end
    else
      ends = math.max(ends, lease)
    end
  end
  redis.call('ZADD', keys[1], string.format('%.0f', ends), args[1])
  local ended = redis.call('ZRANGEBYSCORE', keys[1], '-inf', '(' .. now_ms, 'LIMIT', '0', '16')

  -- Nearly always nobody gave up lately. What is older goes, once it was seen.
  local cancelled = redis.pcall('ZRANGE', keys[2], '0', '999', 'REV')
  if cancelled.err then cancelled = {} end
  if cancelled[1] and redis.call('ZREMRANGEBYSCORE', keys[2], '-inf', now - args[4]) > 0 then
    cancelled = redis.call('ZRANGE', keys[2], '0', '999', 'REV')
  end

  -- Whether it is this worker's turn, for so many milliseconds. What is somebody else's, and no word, is nobody's turn.
  local function has_turn(key, ms)
    local holder = redis.pcall('GET', key)
    if holder ~= false and holder ~= args[1] then return false end
    redis.pcall('SET', key, args[1], 'PX', ms)
    return true
  end

  local jobs, figures = keys[7], {}
  if (args[5] or '0') ~= '0' and has_turn(keys[3], args[5]) then
    -- How many are in a set; somebody else's key has none.
    local function count_of(set)
      local count = redis.pcall('ZCARD', set)
      return type(count) == 'number' and count or 0
    end

    -- What a message of a list, or nothing, says that it was pushed or due at (us), as text.
    local function at_of(head)
      return type(head) == 'string' and string.match(string.sub(head, 1, 40), '^{"at":(%d+),') or ''
    end

    -- Of each list the first one is looked at, and of those whose time has come and that are not there yet.
    local function job_figures()
      local waiting, oldest = 0, nil
      for _, list in ipairs(lists_of(jobs)) do
        local length, at = redis.pcall('LLEN', list), tonumber(at_of(redis.pcall('LINDEX', list, 0)))
        if type(length) == 'number' then waiting = waiting + length end
        if at and (not oldest or at < oldest) then oldest = at end
      end
      waiting = waiting + jobs_lined(jobs)
      local _, since = first_keyed(jobs)
      if since and (not oldest or since < oldest) then oldest = since end
      local due = next_due(jobs)
      if due and due <= now and (not oldest or due * 1000 < oldest) then oldest = due * 1000 end
      return waiting, oldest and string.format('%d', oldest) or ''
    end

    local length, head = redis.pcall('LLEN', keys[4]), redis.pcall('LINDEX', keys[4], 0)
    if type(length) == 'number' then
      figures = { length, at_of(head) }
      if jobs then
        figures[3], figures[4] = job_figures()
        for _, name in ipairs({ 'scheduled', 'retries', 'dead' }) do figures[#figures + 1] = count_of(beside(jobs, name)) end
        local _, since = first_keyed(jobs)
        figures[8] = since and string.format('%.0f', since) or ''
        figures[9], figures[10], figures[11] = key_figures(jobs)
      end
    end
  end

  -- What is no time is somebody else's too.
  local paused = redis.pcall('GET', keys[5])
  if type(paused) ~= 'string' or not string.find(paused, '^%d+$') or #paused > 16 then paused = '' end

  -- A worker of an earlier revision does not name the seventh key.
  if not jobs then return { now_text, 1, cancelled, ended, figures, paused } end
  local asks = beside(jobs, 'inspect:' .. args[1])
  local asked_by = redis.pcall('GET', asks)
  if type(asked_by) == 'string' then redis.pcall('DEL', asks) end
  if type(asked_by) ~= 'string' or not string.find(asked_by, '^[%w_-]+$') or #asked_by > 64 then asked_by = nil end

  local shards = shards_of(keys[7])

  -- The answer of a worker that beats: what follows the figures, up to the last that says something.
  local function answer(due, tick)
    if shards ~= '' then return { now_text, 1, cancelled, ended, figures, paused, due, tick, asked_by or '', shards } end
    if asked_by then return { now_text, 1, cancelled, ended, figures, paused, due, tick, asked_by } end
    return { now_text, 1, cancelled, ended, figures, paused, due, tick }
  end

  if (args[6] or '0') == '0' then return answer('', '') end
  local is_turn = has_turn(beside(jobs, 'turn'), args[6])
  if is_turn and free_orphans(jobs) > 0 then ring(beside(jobs, 'jobbell')) end
  local due = is_turn and next_due(jobs)
  local is_ticker = (args[7] or '0') ~= '0' and has_turn(beside(jobs, 'ticker'), args[7])
  local tick = (args[7] or '0') ~= '0' and first_of(beside(jobs, 'ticks'))
  -- One that is late may be in a time zone that whoever has the turn does not know: all others are told of it, in one second of four.
  local is_late = tick and tick < now - 2000 and math.floor(now / 1000) % 4 == 0
  if not is_ticker and not is_late then tick = nil end
  local function text_of(ms) return ms and string.format('%d', ms) or '' end
  return answer(text_of(due), text_of(tick))
end

redis.register_function{ function_name = 'pshub_1_push', callback = function(KEYS, ARGV)
-- push: appends calls of one hub to a queue's list.
--
-- Used by  caller, 9.1
-- KEYS[1]  LIST    pshub:{<queue>}:calls
-- KEYS[2]  LIST    pshub:{<queue>}:bell
-- KEYS[3]  STRING  pshub:{<queue>}:pushed:<hub>
-- ARGV[1]  number of this push, in decimal digits; a hub counts its pushes per queue and has one in flight at a time
-- ARGV[2]  ms for which the number is remembered, so that a repeated push is a no-op
-- ARGV[3]  longest length that the list may reach; the rest of the batch is refused
-- ARGV[4]  Redis' time when the ttls were computed, as the hub estimates it, us; `0` if unknown
-- ARGV[5..]  requests without their `at`: `"ttl":<ms>,"id":"<id>",...}`
-- Returns  `{accepted, length of the list before, at}`, where `at` is us as text; then, unless both are 0, `1` if this push was done before, and the ms taken off each ttl
--
-- Whatever can be refused (wrong type, full memory, more than 1000 requests) is refused before the first element is pushed: an error
-- answer means that nothing was enqueued.
-- A push that was delayed on its way, by a pause of the process or the network, must not outlive its callers' deadlines.
local count = #ARGV - 4
if count > 1000 then return redis.error_reply('ERR at most 1000 requests in one push') end
local at = now_us_text()
local length = redis.call('LLEN', KEYS[1])
local accepted = math.max(0, math.min(count, tonumber(ARGV[3]) - length))
local silent = redis.call('LLEN', KEYS[2]) == 0

local before = redis.call('SET', KEYS[3], ARGV[1] .. ':' .. accepted .. ':' .. at, 'PX', ARGV[2], 'GET')
if before then
  local number, done, done_at = string.match(before, '^(%d+):(%d+):(%d+)$')
  if number and tonumber(number) >= tonumber(ARGV[1]) then
    -- A lower number is the late copy of a push that was given up: a cut connection may still deliver what it was sent.
    redis.call('SET', KEYS[3], before, 'PX', ARGV[2])
    return { number == ARGV[1] and tonumber(done) or 0, length, done_at, 1, 0 }
  end
end

-- A push that was long on its way, because a process or the network had a pause, must not outlive its callers' deadlines.
local late = 0
if ARGV[4] ~= '0' then late = math.floor((at - ARGV[4]) / 1000) end
-- Hubs allow for less than this.
if late < 2 then late = 0 end
local function in_time(message)
  local ttl, behind = string.match(message, '^"ttl":(%d+)()')
  if not ttl or ttl == '0' then return message end
  return string.format('"ttl":%d', math.max(1, tonumber(ttl) - late)) .. string.sub(message, behind)
end

if accepted > 0 then
  -- `at` is spliced in as text: decoding and encoding a payload here would turn [] into {} and round big integers.
  local prefix = '{"at":' .. at .. ','
  local messages = {}
  for i = 1, accepted do messages[i] = prefix .. (late == 0 and ARGV[i + 4] or in_time(ARGV[i + 4])) end
  redis.call('RPUSH', KEYS[1], unpack(messages))
  if silent then redis.call('RPUSH', KEYS[2], '1') end
end
if late == 0 then return { accepted, length, at } end
return { accepted, length, at, 0, late }
end }

redis.register_function{ function_name = 'pshub_1_claim', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- claim: takes requests for idle slots and records them as held, in one step. Calls go first, then jobs by priority.
--
-- Used by  worker, 10.2
-- KEYS[1]  LIST  pshub:{<queue>}:calls
-- KEYS[2]  LIST  pshub:{<queue>}:bell
-- KEYS[3]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[4]  ZSET  pshub:{<queue>}:leases
-- KEYS[5]  LIST  pshub:{<queue>}:jobs
-- KEYS[6]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  worker id
-- ARGV[2]  idle slots: the most requests to take, at most 1000
-- ARGV[3]  how many of these may be jobs; with `0` the jobs are not looked at
-- ARGV[4]  byte limit; one request may exceed it
-- ARGV[5]  epoch of the queue's shards from the last heartbeat, `0` if there are none
-- ARGV[6..]  threes, for each task whose jobs this worker merges: task, most keys per run, most payloads per key; then `1` if this worker fetches arguments that are stored apart
-- flags:   allow-oom
-- Returns  an array. `{now, requests}` alone if all are calls and elements 3 to 8 have nothing to say; `{now, -1}`, with nothing taken, if the worker has no lease, or if it asked for jobs with another epoch
--   1  now, us as text
--   2  the requests: calls, then jobs
--   3  number of calls left in the list
--   4  number of expired calls that were dropped
--   5  `{position, made-up id, ...}` of requests without an id at their beginning; positions count from 1
--   6  how many of the requests are calls
--   7  number of jobs left
--   8  `{position, ...}` of the requests whose arguments are to be fetched
--
-- A list that is left empty has its bell silenced; that of jobs only if the jobs were looked at.
-- Expired calls are dropped: nobody waits for them any more. They are not held and never start. An expired job is ended by the worker,
-- which tells whatever waits for it. A job that was cancelled while it waited is removed; if another queue must learn of that, the worker
-- holds the note and finds it when it next reconciles.
-- A call whose arguments are stored apart and missing is dropped if they were to be put into it: they expire some seconds after its deadline.
-- An answer of more than 100 kB extends the lease until it has arrived at 200 kB a second, plus 2 s, by at most 30 s.
-- A job is held as job:<id>: whoever puts it back knows its list by that. A merged run is one request, held as job:m-<fence>.
-- Short answers are worth it: each further element costs a worker that wakes for a lone call about a microsecond.
local max_drops = 1000
-- So many are popped blindly. How many more at once, the largest of those says: what turns out to be too much goes back.
local first_page = 8
-- Bytes that take a slow link half a second, and how many of them it takes in a ms.
local long_answer, slowest = 100000, 200
-- So many keys are looked at in one step, for runs of several keys.
local max_keys = 100

local now_text = now_us_text()
local now = tonumber(now_text)

-- Without a lease nobody would ever look for what this worker holds.
local lease = redis.call('ZSCORE', KEYS[4], ARGV[1])
if not lease or lease * 1000 < now then return { now_text, -1 } end

-- One look instead of four lists and the shards, where there are only calls: of a lone call that is a tenth of what it costs Redis.
local high, low = KEYS[5] .. ':high', KEYS[5] .. ':low'
local has_jobs = ARGV[3] ~= '0' and redis.call('EXISTS', high, beside(KEYS[5], 'keyed'), KEYS[5], low) > 0

-- Nobody takes jobs who knows of other shards than there are: it would run a key here that runs elsewhere, too.
if has_jobs and epoch_of(shards_of(KEYS[5])) ~= (tonumber(ARGV[5] or 0) or 0) then return { now_text, -1 } end

local requests, held, named, origins, apart = {}, {}, {}, {}, {}
local fetches = #ARGV % 3 == 0
local bytes_left = tonumber(ARGV[4])
local taken, dropped, cancelled, largest = 0, 0, 0, 1

-- An id for what came by hand, named in the answer.
local function made_up()
  local id = 'hand-' .. now_text .. '-' .. (taken + 1)
  named[#named + 1] = taken + 1
  named[#named + 1] = id
  return id
end

-- Takes one request into what is answered, and what is held. Its answer may say more than what is held: a token of its key, its arguments.
local function accept(message, held_id, list, said, size)
  taken = taken + 1
  size = size or #message
  bytes_left = bytes_left - size
  if size > largest then largest = size end
  requests[taken] = said or message
  origins[taken] = list
  held[taken * 2 - 1] = held_id
  held[taken * 2] = message
end

-- A call with arguments that lie beside it: how long it is with them, and, for a worker that does not fetch them, with them in it. Nil
-- where they are not there any more. The number says how many bytes they are, so that none is fetched to learn that.
local function with_args(message, id, behind)
  local from = string.sub(message, behind, behind + 17) == ',"idempotent":true' and behind + 18 or behind
  local bytes, rest = string.match(message, '^,"beside":(%d+)()', from)
  if not bytes then return #message end
  if fetches then
    apart[#apart + 1] = taken + 1
    return #message + tonumber(bytes)
  end
  local args = redis.pcall('GET', beside(KEYS[5], 'args:' .. id))
  if type(args) ~= 'string' then return nil end
  local whole = string.sub(message, 1, from - 1) .. ',"args":' .. args .. string.sub(message, rest)
  return #whole, whole
end

-- Takes up to `most` off a list. Returns 0 when nothing is left there, else -1: that is still to be counted.
local function take(list, most, prefix, begin)
  local last, page = taken + most, first_page
  while taken < last and bytes_left > 0 and dropped + cancelled < max_drops do
    local count = math.min(page, last - taken)
    local batch = redis.call('LPOP', list, count)
    if not batch then return 0 end
    for i = 1, #batch do
      local message = batch[i]
      if bytes_left <= 0 then
        for k = #batch, i, -1 do redis.call('LPUSH', list, batch[k]) end
        return -1
      end
      local at, ttl, id, behind = string.match(message, leading_and_behind)
      local is_wanted, size, said = true, #message, nil
      if prefix == '' then
        is_wanted = not at or ttl == '0' or tonumber(at) + tonumber(ttl) * 1000 > now
        if is_wanted and id then
          size, said = with_args(message, id, behind)
          is_wanted = size ~= nil
        end
        if not is_wanted then dropped = dropped + 1 end
      else
        if id and string.sub(message, behind, behind + 7) == ',"job":{' then is_wanted = begin(message, id) end
      end
      if is_wanted then
        id = id or made_up()
        accept(message, prefix .. id, list, said, size)
      end
    end
    if #batch < count then return 0 end
    page = math.max(1, math.floor(bytes_left / largest))
  end
  return -1
end

-- Takes jobs, up to so many requests in all. Returns 0 when none is left, else -1. What it is made of is made only where there are jobs.
local function take_jobs(last)
  local rules, keys_left = {}, max_keys
  -- Of a task that this worker does not merge.
  local alone = { batch = 1, payloads = 1 }
  for i = 6, #ARGV, 3 do rules[ARGV[i]] = { batch = tonumber(ARGV[i + 1]), payloads = tonumber(ARGV[i + 2]) } end

  -- What a job that carries more than its arguments wants done when it starts. False for one that was cancelled.
  local function begin(message, id)
    -- Found as text, because to read all of it takes longer than all else.
    local part = part_of(message) or ''
    if not string.find(part, '"keep"', 1, true) and not string.find(part, '"until"', 1, true) then return true end
    local options = options_of(message)
    if options.keep then
      if is_cancelled(KEYS[5], id, options) then
        tally_of(KEYS[5], KEYS[6], KEYS[3], {}, id, options, 'cancelled')
        end_job(KEYS[5], id, options, 'cancelled', math.floor(now / 1000))
        cancelled = cancelled + 1
        return false
      end
      note_job(KEYS[5], id, options, 'state', 'running', 'started', string.format('%d', now / 1000), 'worker', ARGV[1])
    end
    if options['until'] == 'started' then free_unique(KEYS[5], id, options) end
    return true
  end

  -- What is due of a task: key, since when, key, since when, ...; from `from` on it is not taken now.
  local function put_back(task, found, from)
    for i = from, #found, 2 do redis.pcall('ZADD', beside(KEYS[5], 'keys:' .. task), found[i + 1], found[i]) end
  end

  -- Takes the first jobs in the lines of these keys. Their answers tell the tokens. Returns those keys that have no line.
  local function take_lines(task, found, last, running)
    local others, fence, count = {}, found[1] and next_fence(KEYS[5], #found / 2), 0
    for i = 1, #found, 2 do
      if taken >= last or bytes_left <= 0 then
        put_back(task, found, i)
        break
      end
      local key, line = found[i], line_of(KEYS[5], task, found[i])
      local message = redis.pcall('LPOP', line)
      if type(message) ~= 'string' then
        others[#others + 1] = key
        others[#others + 1] = found[i + 1]
      else
        count = count + 1
        local _, _, id, behind = string.match(message, leading_and_behind)
        local is_job = id and string.sub(message, behind, behind + 7) == ',"job":{'
        if is_job and not begin(message, id) then
          free_keys(KEYS[5], task, { key })
        else
          id = is_job and id or made_up()
          local token = string.format('%.0f', fence + (i - 1) / 2)
          running[#running + 1] = key
          running[#running + 1] = token .. ' ' .. ARGV[1] .. ' ' .. id
          -- Its wait is counted from when its key was free.
          local told = string.format('"fence":%s,"since":%.0f,', token, math.min(now, tonumber(found[i + 1]) or 0))
          local said = is_job and string.sub(message, 1, behind + 7) .. told .. string.sub(message, behind + 8)
          accept(message, 'job:' .. id, nil, said or message)
        end
      end
    end
    if count > 0 then count_lined(KEYS[5], task, -count) end
    return others
  end

  local function has_lines(task, found)
    local lines = {}
    for i = 1, #found, 2 do lines[#lines + 1] = line_of(KEYS[5], task, found[i]) end
    return lines[1] and redis.pcall('EXISTS', unpack(lines)) ~= 0
  end

  -- Takes what waits of these keys, merged, in runs of so many keys as `rule` says. Returns those keys of which nothing does.
  local function take_runs(task, found, last, running, rule)
    if not found[1] then return found end
    local names, others, from = {}, {}, 1
    for i = 1, #found, 2 do names[#names + 1] = found[i] end
    local states = redis.pcall('HMGET', beside(KEYS[5], 'tried:' .. task), unpack(names))
    local fence = next_fence(KEYS[5], #names)
    while found[from] and taken < last and bytes_left > 0 do
      local token = string.format('%.0f', fence + (from - 1) / 2)
      local message, id, keys, behind = take_run(KEYS[5], task, found, from, rule, bytes_left, states, token, others)
      for _, key in ipairs(keys) do
        running[#running + 1] = key
        running[#running + 1] = token .. ' ' .. ARGV[1] .. ' ' .. id
      end
      if message then accept(message, 'job:' .. id) end
      from = behind
    end
    put_back(task, found, from)
    return others
  end

  -- Takes what is due of a task, of those keys first that have been due for the longest, for so many slots at the most.
  local function take_keyed(task, most)
    local rule, running, last = rules[task], {}, taken + most
    local count = math.min(most * (rule and rule.batch or 1), rule and keys_left or most)
    if rule then keys_left = keys_left - count end
    local found = redis.pcall('ZPOPMIN', beside(KEYS[5], 'keys:' .. task), count)
    if found.err then found = {} end
    -- Jobs of before a task merged them are older than the payloads behind them. What is not this worker's is handed back.
    if not rule or has_lines(task, found) then found = take_lines(task, found, last, running) end
    take_runs(task, found, last, running, rule or alone)
    if running[1] then redis.pcall('HSET', beside(KEYS[5], 'running:' .. task), unpack(running)) end
    note_first(KEYS[5], task)
  end

  -- Takes jobs of the middle rank and of keys that are due, each when it is the oldest of them.
  local function take_by_age(last)
    local page = first_page
    while taken < last and bytes_left > 0 and keys_left > 0 and dropped + cancelled < max_drops do
      local task, since, others = first_keyed(KEYS[5])
      if not task then return take(KEYS[5], last - taken, 'job:', begin) end
      local head = redis.call('LINDEX', KEYS[5], 0)
      local at = head and (tonumber(string.match(head, '^{"at":(%d+)')) or 0)
      if at and at <= since then
        take(KEYS[5], 1, 'job:', begin)
      else
        -- Many, while nothing else is there that could be older.
        local most = (at or others) and 1 or math.min(last - taken, page)
        take_keyed(task, most)
        page = math.max(1, math.floor(bytes_left / largest))
      end
    end
    return -1
  end

  local left = take(high, last - taken, 'job:', begin)
  if left == 0 then left = take_by_age(last) end
  if left == 0 then left = take(low, last - taken, 'job:', begin) end
  return left
end

local wanted = math.min(1000, tonumber(ARGV[2]))
local left, jobs_left = take(KEYS[1], wanted, ''), 0
local calls = taken
if has_jobs then
  local room = math.min(tonumber(ARGV[3]), wanted - taken)
  jobs_left = room > 0 and take_jobs(calls + room) or -1
end

if taken > 0 then
  -- Somebody else's key under that name, or a right that was taken away, must not cost what is popped already.
  local done = redis.pcall('HSET', KEYS[3], unpack(held))
  if type(done) == 'table' and done.err then
    for i = taken, 1, -1 do
      if origins[i] then
        redis.call('LPUSH', origins[i], held[i * 2])
      else
        return_job(KEYS[5], plain_id(held[i * 2 - 1]), held[i * 2])
      end
    end
    return done
  end
  -- On a slow link the beats wait behind this answer.
  local bytes = ARGV[4] - bytes_left
  local ends = now / 1000 + math.min(longest_claim, 2000 + bytes / slowest)
  if bytes > long_answer and ends > tonumber(lease) then redis.call('ZADD', KEYS[4], string.format('%.0f', ends), ARGV[1]) end
end

-- Wakes the next worker for what is left. A list that is empty has a silent bell: a token that stayed would have workers of several
-- queues claim from it again and again, while those behind it wait for ever on a link that is not loopback.
if left ~= 0 then left = redis.call('LLEN', KEYS[1]) end
if left > 0 then ring(KEYS[2]) else redis.call('DEL', KEYS[2]) end
-- A worker that may take jobs has perhaps taken their token, and then had no slot for them.
-- What follows a batch whose last job was passed over may have come behind all that was looked at.
if jobs_left ~= 0 or cancelled > 0 then jobs_left = jobs_waiting(KEYS[5]) end
if jobs_left > 0 then ring(KEYS[6]) end
if jobs_left == 0 and ARGV[3] ~= '0' then redis.call('DEL', KEYS[6]) end
if left == 0 and dropped == 0 and calls == taken and jobs_left == 0 and not named[1] and not apart[1] then return { now_text, requests } end
return { now_text, requests, left, dropped, named, calls, jobs_left, apart }
end }

redis.register_function{ function_name = 'pshub_1_reply', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
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
end }

redis.register_function{ function_name = 'pshub_1_beat', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- beat: takes or renews a worker's lease, and reports news to the worker.
--
-- Used by  worker, 10.1
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- KEYS[3]  STRING  pshub:{<queue>}:reporter
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  STRING  pshub:{<queue>}:paused
-- KEYS[6]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[7]  LIST  pshub:{<queue>}:jobs
-- ARGV[1]  worker id
-- ARGV[2]  ms from now to the end of the lease
-- ARGV[3]  `1` to take a lease under a new id, `0` to renew
-- ARGV[4]  ms for which a cancelled id is kept
-- ARGV[5]  ms for which this worker is the queue's reporter, `0` if it does not report
-- ARGV[6]  ms for which this worker moves due jobs, `0` if it does not
-- ARGV[7]  ms for which this worker runs the schedules, `0` if it does not
-- flags:   allow-oom
-- Returns  an array; its end may be missing, and an element without a value is empty. Without the lease it has only the first five
--   1  now, us as text
--   2  `1` if the lease is held, `0` if it is lost
--   3  ids of cancelled requests, at most 1000
--   4  ids of other workers whose leases have ended, at most 16
--   5  figures, for the reporter only: length of the list of calls; `at` of its first call; number of jobs that can be claimed; since when the oldest of them is due; number of scheduled jobs, of jobs that wait for a retry, and of dead jobs; since when the oldest due key is due; number of waiting keys, and of running keys; since when the oldest of these runs. Times are us as text, empty if unknown
--   6  since when the queue is paused, ms as text
--   7  when the next job is due, ms as text; only for the worker that moves due jobs
--   8  next time of a schedule, ms as text; only for the worker that runs the schedules
--   9  ticket of somebody who asks what this worker is doing
--   10  record of the queue's shards
return beat_of({ KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] }, ARGV)
end }

redis.register_function{ function_name = 'pshub_1_beats', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- beats: does what `beat` does, for several queues of one worker in one step. On a Cluster they share a hash slot.
--
-- Used by  worker, 10.1
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- KEYS[3]  STRING  pshub:{<queue>}:reporter
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  STRING  pshub:{<queue>}:paused
-- KEYS[6]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[7]  LIST  pshub:{<queue>}:jobs
-- ARGV[1..]  sevens, the arguments of `beat` for each queue; the keys of further queues follow in sevens, too
-- flags:   allow-oom
-- Returns  an array of an answer for each queue, or the text of an error that its keys cause; such an error concerns no other queue
--   1  what `beat` returns
--   2  ids of what the worker holds there; null if they cannot be read
--   3  `1` if calls or jobs wait there, or jobs with keys run, else `0`
--
-- Tokens of bells may be lost with whoever took them. A worker of one queue finds what they announced with its next claim, which
-- follows each wait; a worker of several queues claims only from a queue whose bell rang.
local function has_work(calls, jobs)
  for _, count in ipairs({ redis.pcall('LLEN', calls), redis.pcall('EXISTS', beside(jobs, 'keyed'), unpack(lists_of(jobs))) }) do
    if type(count) == 'number' and count > 0 then return 1 end
  end
  return 0
end

local answers = {}
for i = 1, #KEYS, 7 do
  local done, beaten = pcall(beat_of, { unpack(KEYS, i, i + 6) }, { unpack(ARGV, i, i + 6) })
  if not done then
    beaten = beaten.err or tostring(beaten)
  else
    local held = redis.pcall('HKEYS', KEYS[i + 5])
    beaten = { beaten, not held.err and held, has_work(KEYS[i + 3], KEYS[i + 6]) }
  end
  answers[#answers + 1] = beaten
end
return answers
end }

redis.register_function{ function_name = 'pshub_1_handback', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
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
end }

redis.register_function{ function_name = 'pshub_1_leave', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
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
end }

redis.register_function{ function_name = 'pshub_1_adopt', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- adopt: takes over a bounded part of what a worker held whose lease has ended, and decides what becomes of it.
--
-- Used by  worker, 10.7
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  HASH  pshub:{<queue>}:held:<lost worker>
-- KEYS[3]  HASH  pshub:{<queue>}:held:<this worker>
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  LIST  pshub:{<queue>}:bell
-- KEYS[6]  LIST  pshub:{<queue>}:jobs
-- KEYS[7]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  lost worker's id
-- ARGV[2]  this worker's id
-- ARGV[3]  the most requests to move
-- ARGV[4]  byte limit; one request may exceed it
-- ARGV[5]  how many dead jobs are kept; the oldest make room
-- ARGV[6]  ms for which dead jobs are kept
-- flags:   allow-oom
-- Returns  `{-1}` if the other worker's lease holds or this worker has none; else an array, whose elements 2, 3, 4 and 6 are `{held id, text, ...}`
--   1  `1` if nothing is left there, else `0`
--   2  calls that this worker holds now and must answer
--   3  requests that went back to their lists
--   4  jobs that are dead now
--   5  `{held id, ticket, hub, ...}`: who waits for those dead jobs
--   6  work for other queues that this worker holds now
--
-- Each request may have been started. What may run twice goes back to the head of its list, with one more loss counted in it, until three
-- workers have died holding it. Then a job is dead; and any other call is held by this worker, as lost:<id>, in the same step: a crash at
-- any moment leaves it with one holder, whose lease ends in turn. Only workers can answer it, because replies are not where the queue is.
-- An expired call, and what is no message, is dropped.
-- From the first step on the lost worker's lease is 0, which its own beat cannot renew.
local max_losses = 3
-- So many keys of merged jobs are put back in one step, but for one run that has more.
local max_keys = 200

local now_us = tonumber(now_us_text())
local now = math.floor(now_us / 1000)
local mine = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not mine or tonumber(mine) < now then return { -1 } end
local theirs = redis.call('ZSCORE', KEYS[1], ARGV[1])
if theirs and tonumber(theirs) >= now then return { -1 } end

-- An error of these, which somebody else's keys cause, comes before anything was moved.
redis.call('HLEN', KEYS[3])
redis.call('LLEN', KEYS[4])
redis.call('LLEN', KEYS[5])
redis.call('LLEN', KEYS[6])
redis.call('LLEN', KEYS[7])
try_lists(KEYS[6], KEYS[7])
redis.call('ZCARD', beside(KEYS[6], 'dead'))
-- Somebody else's key under the lost worker's name: then there is nothing to take over, now or later.
local found = redis.pcall('HRANDFIELD', KEYS[2], ARGV[3])
if found.err then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return { 1, {}, {}, {}, {}, {} }
end

local to_answer, back, dead, told, outs = {}, {}, {}, {}, {}
local function note(list, held_id, message)
  list[#list + 1] = held_id
  list[#list + 1] = message
end
local function hold(held_id, message)
  redis.call('HSET', KEYS[3], held_id, message)
  note(to_answer, held_id, message)
end
local function put_back(held_id, message)
  if is_job(held_id) then
    return_job(KEYS[6], plain_id(held_id), message)
    ring(KEYS[7])
  else
    redis.call('LPUSH', KEYS[4], message)
    ring(KEYS[5])
  end
  note(back, held_id, message)
end
local function give_up(held_id, message, losses)
  local id, options = plain_id(held_id), options_of(message)
  local failure = lost_failure(losses)
  local failed = with_failure(message, id, failure, now)
  bury(KEYS[6], failed, now, ARGV[5], ARGV[6])
  local leaving = {}
  leaves(leaving, id, message, options)
  leave_lines(KEYS[6], leaving)
  -- The next one of its key may be due.
  if next(leaving) then ring(KEYS[7]) end
  note_job(KEYS[6], id, options, 'tries', options_of(failed).tries, 'error',
    string.format('{"at":%d,%s}', now, failure))
  note(dead, held_id, failed)
  tally_of(KEYS[6], KEYS[7], KEYS[3], outs, id, options, 'dead')
  local waiters = end_job(KEYS[6], id, options, 'dead', now)
  for i = 1, #waiters, 2 do
    note(told, held_id, waiters[i])
    told[#told + 1] = waiters[i + 1]
  end
end
-- Each key of a run counts by itself how many workers were lost with it.
local function decide_run(held_id, message, task, run)
  local at = tonumber(string.match(message, '^{"at":(%d+)'))
  local given_up = run_lost(KEYS[6], plain_id(held_id), task, run, at, max_losses, now, ARGV[5], ARGV[6])
  for _, each in ipairs(given_up) do note(dead, 'job:' .. string.match(each, '"id":"([%w_-]+)"'), each) end
  if #given_up < #run then note(back, held_id, message) end
  ring(KEYS[7])
end
local function decide(held_id, message)
  local task, run = run_of(message, is_job(held_id) and options_of(message) or {})
  if task then
    decide_run(held_id, message, task, run)
    return #run
  end
  local body, losses = without_mark(message)
  if not body or not is_job(held_id) and is_over(message, now_us) then return end
  losses = losses + 1
  local counted = body .. string.format(',"losses":%d}', math.min(losses, 1000))
  local may = may_repeat(held_id, message)
  if may and losses < max_losses then return put_back(held_id, counted) end
  if is_job(held_id) then return give_up(held_id, counted, losses) end
  hold('lost:' .. held_id, counted)
end

local bytes_left, keys_left = tonumber(ARGV[4]), max_keys
for i = 1, #found do
  if bytes_left <= 0 or keys_left <= 0 then break end
  local message = redis.call('HGET', KEYS[2], found[i])
  redis.call('HDEL', KEYS[2], found[i])
  bytes_left = bytes_left - #message
  -- That of a worker that died before it had answered is decided about.
  if is_out(found[i]) then
    redis.call('HSET', KEYS[3], found[i], message)
    note(outs, found[i], message)
  else
    if is_lost(found[i]) then hold(found[i], message) else keys_left = keys_left - (decide(found[i], message) or 0) end
  end
end
local left = redis.call('HLEN', KEYS[2])
if left > 0 then
  redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
  -- They end by themselves, but not where Redis' clock was set back.
  end_turns(KEYS[6], beside(KEYS[6], 'reporter'), ARGV[1])
end
return { left > 0 and 0 or 1, to_answer, back, dead, told, outs }
end }

redis.register_function{ function_name = 'pshub_1_cancel', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- cancel: removes a request that still waits, or leaves a note for the worker that runs it.
--
-- Used by  caller, 9.8
-- KEYS[1]  LIST  pshub:{<queue>}:calls
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- ARGV[1]  request id
-- ARGV[2]  the request exactly as it is in the list, or empty if unknown
-- ARGV[3]  ms for which the note is kept
-- flags:   allow-oom
-- Returns  `1` if the request was removed: it certainly never runs; else `0`
--
-- Only the first and the last thousand requests are searched: a search of millions would block Redis for something that the deadline ends
-- anyway. Workers read the notes with each beat.
local reach = 1000

if ARGV[2] ~= '' then
  for _, from in ipairs({ 1, -1 }) do
    if redis.call('LPOS', KEYS[1], ARGV[2], 'RANK', from, 'MAXLEN', reach) then
      local gone = redis.call('LREM', KEYS[1], from, ARGV[2])
      -- Nobody may be there to take the token.
      if redis.call('LLEN', KEYS[1]) == 0 then redis.pcall('UNLINK', string.sub(KEYS[1], 1, -6) .. 'bell') end
      return gone
    end
  end
end
redis.call('ZADD', KEYS[2], now_ms(), ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0
end }

redis.register_function{ function_name = 'pshub_1_enqueue', callback = function(KEYS, ARGV)
-- enqueue: puts jobs of one hub into a queue, to run now or when they are due.
--
-- Used by  caller, 9.9
-- KEYS[1]  LIST    pshub:{<queue>}:jobs
-- KEYS[2]  LIST    pshub:{<queue>}:jobbell
-- KEYS[3]  STRING  pshub:{<queue>}:enqueued:<hub>
-- ARGV[1]  number of this batch, in decimal digits; a hub counts its batches per queue and has one in flight at a time
-- ARGV[2]  ms for which the number is remembered, so that a repeated batch is a no-op
-- ARGV[3..]  jobs without their `at`: `"ttl":<ms>,"id":"<id>",...}`
-- Returns  `{at, 1 if this batch was taken before or else 0, index, id, ...}`: indexes, from 1, of jobs that were not enqueued because a job with the same `unique` text exists, each with the id of that job
--
-- All of the batch or nothing: whatever can be refused (wrong type, full memory, more than 1000 jobs) is refused before the first job is
-- written.
local count = #ARGV - 2
if count > 1000 then return redis.error_reply('ERR at most 1000 jobs in one batch') end
local at = now_us_text()
try_lists(KEYS[1], KEYS[2])

local before = redis.call('GET', KEYS[3])
local number, answered = string.match(before or '', '^(%d+) (.+)$')
if number and tonumber(number) >= tonumber(ARGV[1]) then
  -- A lower number is the late copy of a batch that was given up: a cut connection may still deliver what it was sent.
  local answer = { at, 1 }
  if number == ARGV[1] then
    for text in string.gmatch(answered, '%S+') do answer[#answer + 1] = text end
    answer[1] = table.remove(answer, 3)
  end
  return answer
end

local added, twins = {}, {}
for i = 1, count do
  local there = add_job(KEYS[1], at, ARGV[i + 2], added)
  if there then
    twins[#twins + 1] = i
    twins[#twins + 1] = there
  end
end
arrive(KEYS[1], KEYS[2], added)
redis.call('SET', KEYS[3], ARGV[1] .. ' ' .. at .. ' ' .. table.concat(twins, ' '), 'PX', ARGV[2])
return { at, 0, unpack(twins) }
end }

redis.register_function{ function_name = 'pshub_1_due', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- due: moves a bounded number of due jobs into their lists.
--
-- Used by  worker, 10.11
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  the most jobs to move
-- ARGV[2]  byte limit; one job may exceed it
-- flags:   allow-oom
-- Returns  `{now, how many were moved, when the next one is due}`: us as text, a number, ms as text (empty if none waits)
--
-- It does not matter who runs it, nor how often: what is not due stays. The next one may be due already if there is too much for one step.
for _, list in ipairs(lists_of(KEYS[1])) do redis.call('LLEN', list) end
redis.call('LLEN', KEYS[2])
local now_text = now_us_text()
local now = string.format('%d', math.floor(now_text / 1000))
local moved, bytes_left = 0, tonumber(ARGV[2])

for _, name in ipairs({ 'scheduled', 'retries' }) do
  local set, page = beside(KEYS[1], name), 8
  while moved < tonumber(ARGV[1]) and bytes_left > 0 do
    local count = math.min(page, ARGV[1] - moved)
    local found = redis.pcall('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count)
    -- Somebody else's key.
    if found.err or #found == 0 then break end
    local largest, taken = 1, 0
    for i = 1, #found do
      if bytes_left <= 0 then break end
      arrive_late(KEYS[1], string.match(found[i], '"id":"([%w_-]+)"'), found[i])
      bytes_left = bytes_left - #found[i]
      if #found[i] > largest then largest = #found[i] end
      taken = i
    end
    -- They are the first of the set.
    redis.call('ZREMRANGEBYRANK', set, 0, taken - 1)
    moved = moved + taken
    page = math.max(1, math.floor(bytes_left / largest))
  end
end
moved = moved + stand_due(KEYS[1], ARGV[1] - moved)
if moved > 0 then ring(KEYS[2]) end
local due = next_due(KEYS[1])
return { now_text, moved, due and string.format('%d', due) or '' }
end }

redis.register_function{ function_name = 'pshub_1_settle', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- settle: ends jobs that a worker ran, in the step in which it releases them.
--
-- Used by  worker, 10.11
-- KEYS[1]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[2]  LIST  pshub:{<queue>}:jobs
-- KEYS[3]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  how many dead jobs are kept; the oldest make room
-- ARGV[2]  ms for which dead jobs are kept
-- ARGV[3..]  sixes: held id; the job's leading `at` as it was claimed, or empty; outcome (10.11); ms until it is due again or `0`, or the words for a merged run (10.18); result as JSON (`done`), failure as JSON without its braces (`retry`, `pass`, `dead`), name of the shard (`moved`) or empty; the following job without its `at`, after the name of its queue and a space if that is another queue, or empty
-- flags:   allow-oom
-- Returns  `{how many dead jobs made room, {index, ticket, hub, ...}, {held id, text, ...}}`: whom to notify of which of these jobs, counted from 1; and work for other queues that this worker holds now
--
-- Outcomes: `done`; `retry`, which waits for its time, with a key at the head of its line; `pass`, the same without blocking its key;
-- `putoff`, postponed without having failed: it was not started; `dead`; `expired` and `cancelled`, not run or not to its end; `moved`, it
-- is in another shard of its queue now, which the text names. Of a merged run `done`, or `retry` and words for its keys, in their order:
-- r<ms>, it failed and is retried after that; d<place>, it failed, and its payload of that place, counted from 1, is dead, while the others
-- wait as if new; x<place>, the same of one that is not JSON; b<ms>, it was not run, and comes back after that.
-- Only what this worker still holds is settled, so a second try after a lost answer, or a worker that lost its lease, does nothing. The `at`
-- tells one time of holding a job from the next: each settle that puts it back gives it another one, and the same worker may hold it again
-- before it has heard of that.
-- Its ttl goes on while it waits; a job that expires before its turn ends here.
try_lists(KEYS[2], KEYS[3])
redis.call('HLEN', KEYS[1])
redis.call('ZCARD', beside(KEYS[2], 'retries'))
redis.call('ZCARD', beside(KEYS[2], 'later'))
redis.call('ZCARD', beside(KEYS[2], 'dead'))
local at = now_us_text()
local now = math.floor(at / 1000)
local dropped, told, outs, added, retries, later = 0, {}, {}, {}, {}, {}
local held_back, leaving, runs_leaving, well = false, {}, {}, {}

local function finish(id, message, options, state, ...)
  leaves(leaving, id, message, options)
  tally_of(KEYS[2], KEYS[3], KEYS[1], outs, id, options, state)
  return end_job(KEYS[2], id, options, state, now, ...)
end

-- Its time to be wanted goes on while it waits; what is over before its turn comes ends here.
local function again(id, message, options, delay, state, waiting)
  local due = now + (ms_of(delay) or 0)
  local pushed, ttl = string.match(message, leading)
  local left = ttl ~= '0' and math.floor((pushed + ttl * 1000) / 1000) - due or 0
  if left < 0 or left == 0 and ttl ~= '0' then return finish(id, message, options, 'expired') end
  wait_again(KEYS[2], id, options, 'state', state, 'due', string.format('%d', due))
  local text = string.format('{"at":%d000,"ttl":%d', due, left) .. string.sub(message, (string.find(message, ',"id":"', 1, true)))
  if waiting then
    leaves(leaving, id, message, options)
  else
    if come_back(KEYS[2], id, text, options, due) then
      -- A worker sets its clock by it, unless that is set for an earlier one.
      held_back = true
      return {}
    end
    waiting = retries
  end
  waiting[#waiting + 1] = due
  waiting[#waiting + 1] = text
  return {}
end

local function follow(following)
  local queue, message = string.match(following, '^([%w_.-]+) (.*)$')
  if queue then return send_out(KEYS[1], outs, queue, string.match(message, '"id":"([%w_-]+)"'), message) end
  if following ~= '' then add_job(KEYS[2], at, following, added) end
end

-- A failure with when the try began, as far as there is a record that says it: how long each try took is seen by that alone.
local function with_start(id, options, failure)
  local started = options.keep and redis.pcall('HGET', beside(KEYS[2], 'job:' .. id), 'started')
  if type(started) ~= 'string' or not string.match(started, '^%d+$') then return failure end
  return '"started":' .. started .. ',' .. failure
end

-- A run of merged jobs: done, or what `words` say of each of its keys.
local function settle_run(id, message, task, run, outcome, words, text)
  if outcome ~= 'done' then
    dropped = dropped + end_run(KEYS[2], id, task, run, words, text, now, ARGV[1], ARGV[2])
    held_back = true
    return {}
  end
  local keys = {}
  well[task] = well[task] or {}
  for i, each in ipairs(run) do
    keys[i] = each.key
    well[task][#well[task] + 1] = each.key
  end
  leave_run(runs_leaving, id, task, keys)
  return {}
end

local function settle(id, message, outcome, delay, text, following)
  local options = options_of(message)
  local task, run = run_of(message, options, outcome == 'done')
  if task then return settle_run(id, message, task, run, outcome, delay, text) end
  if outcome == 'moved' then
    leaves(leaving, id, message, options)
    end_job(KEYS[2], id, options, 'moved', now, 'to', text)
    return {}
  end
  local is_back = outcome == 'retry' or outcome == 'pass' or outcome == 'putoff'
  if is_back and is_cancelled(KEYS[2], id, options) then outcome = 'cancelled' end
  if outcome == 'done' then
    follow(following)
    return finish(id, message, options, 'done', 'result', text)
  end
  if outcome == 'putoff' then
    return again(id, with_lead(message, id, now), options, delay, 'scheduled', not options.key and later)
  end
  if outcome ~= 'retry' and outcome ~= 'pass' and outcome ~= 'dead' then return finish(id, message, options, outcome) end
  local failure = with_start(id, options, text)
  local failed = with_failure(message, id, failure, now)
  note_job(KEYS[2], id, options, 'tries', options_of(failed).tries, 'error', string.format('{"at":%d,%s}', now, failure))
  if outcome == 'retry' then return again(id, failed, options, delay, 'retrying', not options.key and retries) end
  if outcome == 'pass' then return again(id, failed, options, delay, 'retrying', retries) end
  dropped = dropped + bury(KEYS[2], failed, now, ARGV[1], ARGV[2])
  return finish(id, message, options, 'dead')
end

for i = 3, #ARGV, 6 do
  local message = redis.call('HGET', KEYS[1], ARGV[i])
  if message and (string.match(message, leading) or '') == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    local waiters = settle(plain_id(ARGV[i]), message, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
    for k = 1, #waiters, 2 do
      told[#told + 1] = (i + 3) / 6
      told[#told + 1] = waiters[k]
      told[#told + 1] = waiters[k + 1]
    end
  end
end
-- Before it is looked whether a task has keys still.
count_step(KEYS[2], added)
for task, keys in pairs(well) do
  for from = 1, #keys, most_words do
    redis.pcall('HDEL', beside(KEYS[2], 'tried:' .. task), unpack(keys, from, math.min(from + most_words - 1, #keys)))
  end
end
leave_lines(KEYS[2], leaving)
leave_lines(KEYS[2], runs_leaving, true)
arrive(KEYS[2], KEYS[3], added)
if later[1] then postpone(KEYS[2], 'scheduled', later) end
if retries[1] then postpone(KEYS[2], 'retries', retries) end
if held_back then ring_due(KEYS[2]) end
if keys_due(KEYS[2]) > 0 then ring(KEYS[3]) end
return { dropped, told, outs }
end }

redis.register_function{ function_name = 'pshub_1_forward', callback = function(KEYS, ARGV)
-- forward: puts jobs from another queue into this one, each of them once, however often it is sent.
--
-- Used by  worker, 10.13
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  ms for which an arrival is remembered, unless `came` is removed before
-- ARGV[2..]  jobs without their `at`
-- Returns  how many of them are new here
--
-- A worker holds such a job under out:<queue>:<id> until it knows that the job is here, and then removes `came`.
try_lists(KEYS[1], KEYS[2])
local at, came, added = now_us_text(), 0, {}
for i = 2, #ARGV do
  local id = string.match(ARGV[i], '"id":"([%w_-]+)"')
  if id and redis.call('SET', beside(KEYS[1], 'came:' .. id), '1', 'NX', 'PX', ARGV[1]) then
    add_job(KEYS[1], at, ARGV[i], added)
    came = came + 1
  end
end
arrive(KEYS[1], KEYS[2], added)
return came
end }

redis.register_function{ function_name = 'pshub_1_batch', callback = function(KEYS, ARGV)
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
end }

redis.register_function{ function_name = 'pshub_1_withdraw', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- withdraw: cancels a tracked job.
--
-- Used by  caller, 9.9
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- ARGV[1]  job id
-- ARGV[2]  ms for which its worker is notified
-- ARGV[3]  ms for which a job that has yet to come, such as a later step of a chain, is kept away; otherwise `0`
-- flags:   allow-oom
-- Returns  its state before, empty if it has no record
--
-- A job that waits for its time or its retry, or is the first of its key, is removed at once. Any other waiting job stays until a claim
-- meets it: a search would block Redis. So does a job that only a worker may end, because a batch of another queue waits for it. Whoever
-- waits for the end finds it by looking again.
local jobs, id, now = KEYS[1], ARGV[1], now_ms()
local record = beside(jobs, 'job:' .. id)
local state, task, key, due, expires, unique =
  unpack(redis.call('HMGET', record, 'state', 'task', 'key', 'due', 'expires', 'unique'))
if not state then
  if ARGV[3] ~= '0' then
    redis.call('HSET', record, 'state', 'cancelled', 'ended', now, 'cancel', '1')
    redis.call('PEXPIRE', record, ARGV[3])
  end
  return ''
end
if state == 'running' then
  redis.call('HSET', record, 'cancel', '1')
  redis.call('ZADD', KEYS[2], now, 'job:' .. id)
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  return state
end
if state ~= 'waiting' and state ~= 'scheduled' and state ~= 'retrying' then return state end

-- Takes it out of the set of those that wait for their times. The beginning of a text that has its time stands right before it.
local function take_from(set)
  local ttl = expires and math.max(0, expires - due) or 0
  local begin = string.format('{"at":%s000,"ttl":%.0f,"id":"%s"', due, ttl, id)
  redis.pcall('ZADD', set, due, begin)
  local place = redis.pcall('ZRANK', set, begin)
  redis.pcall('ZREM', set, begin)
  local text = type(place) == 'number' and redis.pcall('ZRANGE', set, place, place)[1]
  if not text or string.sub(text, 1, #begin + 1) ~= begin .. ',' then return nil end
  redis.call('ZREM', set, text)
  return text
end

-- Takes it out of the line of its key, where it is the first there.
local function take_from_line()
  local text = redis.pcall('LINDEX', line_of(jobs, task, key), 0)
  if type(text) ~= 'string' or select(3, string.match(text, leading)) ~= id then return nil end
  redis.call('LPOP', line_of(jobs, task, key))
  leave_head(jobs, task, key)
  ring_for_jobs(jobs, beside(jobs, 'jobbell'))
  return text
end

local text = key and task and take_from_line()
if not text and state == 'scheduled' then text = take_from(beside(jobs, 'scheduled')) end
if not text and state == 'retrying' then text = take_from(beside(jobs, 'retries')) end
local options = text and options_of(text) or {}
local here, elsewhere = batches_of(jobs, id, options)
if text and not elsewhere[1] then
  for _, batch in ipairs(here) do tally(jobs, beside(jobs, 'jobbell'), batch, id, 'cancelled') end
  end_job(jobs, id, options, 'cancelled', now)
  return state
end
cancel_waiting(jobs, id, { unique = unique })
if text then
  redis.call('RPUSH', list_of(jobs, text), text)
  ring(beside(jobs, 'jobbell'))
end
return state
end }

redis.register_function{ function_name = 'pshub_1_await', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- await: notes that somebody waits for the end of a tracked job.
--
-- Used by  caller, 9.9
-- KEYS[1]  HASH  pshub:{<queue>}:job:<job>
-- ARGV[1]  ticket: the id that the notification is to carry
-- ARGV[2]  hub id
-- ARGV[3]  the most that may wait for one job; the oldest makes room, and looks again by itself
-- ARGV[4]  ms for which a note without a record is kept, for a job that has yet to come; otherwise `0`
-- flags:   allow-oom
-- Returns  `{field, value, ...}` of the record, empty if there is none
--
-- Asking again with the same ticket waits once.
local fields = redis.call('HGETALL', KEYS[1])
local own, waiting, has_ended, oldest = 'wait:' .. ARGV[1], 0, false, nil
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 5) == 'wait:' and fields[i] ~= own then
    waiting = waiting + 1
    oldest = oldest or fields[i]
  end
  if fields[i] == 'ended' then has_ended = true end
end
if (#fields > 0 or ARGV[4] ~= '0') and not has_ended then
  -- Those that gave up, or died, do not say so: they must not keep others out.
  if waiting >= tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], oldest) end
  redis.call('HSET', KEYS[1], own, ARGV[2])
  if #fields == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
end
return fields
end }

redis.register_function{ function_name = 'pshub_1_revive', callback = function(KEYS, ARGV)
-- revive: makes jobs of `dead`, `scheduled` or `retries` claimable now. Dead ones begin with their first try again.
--
-- Used by  caller, 9.9
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1..]  pairs: a job exactly as it is in the set; the message that replaces it, without its `at`
-- Returns  how many of them were found and can be claimed now
--
-- A dead job stays where it is while another job holds its `unique` text.
-- A full Redis refuses it: the jobs are safe where they are.
-- Foreign keys in these places cost the jobs there alone.
for _, list in ipairs(lists_of(KEYS[1])) do redis.call('LLEN', list) end
redis.call('LLEN', KEYS[2])
local revived = 0

-- Somebody else's keys in these places cost the jobs there alone.
local function take(text, name)
  return redis.pcall('ZREM', beside(KEYS[1], name), text) == 1
end

-- A dead one that may come back, now that it holds its uniqueness again.
local function take_dead(lying, id, options)
  if type(redis.pcall('ZSCORE', beside(KEYS[1], 'dead'), lying)) ~= 'string' then return false end
  return not hold_unique(KEYS[1], id, options) and take(lying, 'dead')
end

for i = 1, #ARGV, 2 do
  local text = '{"at":' .. now_us_text() .. ',' .. ARGV[i + 1]
  local id, options = string.match(text, '"id":"([%w_-]+)"') or '', options_of(text)
  if take_dead(ARGV[i], id, options) then
    revived = revived + 1
    line_up_again(KEYS[1], text, options)
    local record = beside(KEYS[1], 'job:' .. id)
    -- It may have been dead for longer than its record lasts.
    if not redis.pcall('HGET', record, 'task') then begin_record(KEYS[1], id, text, options, 'waiting', now_ms(), now_ms()) end
    note_job(KEYS[1], id, options, 'state', 'waiting', 'tries', '0')
    if options.keep then
      redis.pcall('PERSIST', record)
      redis.pcall('HDEL', record, 'ended', 'error', 'cancel', 'expires')
    end
  else
    if take(ARGV[i], 'scheduled') or take(ARGV[i], 'retries') then
      revived = revived + 1
      arrive_late(KEYS[1], id, text)
      note_job(KEYS[1], id, options, 'due', string.format('%d', now_ms()))
      note_expiry(KEYS[1], id, options, now_ms(), text)
    end
  end
end
if revived > 0 then ring(KEYS[2]) end
return revived
end }

redis.register_function{ function_name = 'pshub_1_shard', callback = function(KEYS, ARGV)
-- shard: writes the record of a queue's shards, in one of its places.
--
-- Used by  worker and operator, 10.20
-- KEYS[1]  STRING  pshub:{<queue>}:shards
-- ARGV[1]  the record: `{"epoch":<number>,...}`
-- ARGV[2]  the epoch that must be there now, `0` for none; empty to replace any lower one
-- Returns  `1`, or `0` if another or a higher epoch is there and nothing was changed
--
-- Changes of a queue's shards follow each other by their epochs, one higher each: the queue's own place decides between two that are made at
-- once, and all others are brought up to what is there. An unreadable record counts as none.
local there = redis.pcall('GET', KEYS[1])
there = type(there) == 'string' and epoch_of(there) or 0
if ARGV[2] ~= '' and there ~= tonumber(ARGV[2]) then return 0 end
if there >= epoch_of(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
end }

redis.register_function{ function_name = 'pshub_1_key', callback = function(KEYS, ARGV)
-- key: acts on one key: runs it now, skips the job or payload it is stuck at, deletes its payloads or one job, or shows whether it has jobs.
--
-- Used by  caller, 10.17
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  task
-- ARGV[2]  key; for `drop` of a job without a key, empty
-- ARGV[3]  `run`: the key is due now; `skip`: its first job, or its payload with the lowest score, is dead and the rest is due now; `delete`: its payloads are deleted; `drop`: one job of its line or list is deleted; `has`: nothing is changed
-- ARGV[4]  how many dead jobs are kept; for `has` the epoch of the queue's shards as the caller knows it; for `drop` the job exactly as it is in its line or list
-- ARGV[5]  ms for which dead jobs are kept
-- ARGV[6]  for `skip` the id of the job or the score of the payload that is meant, or empty for the first one
-- Returns  how many jobs or payloads were affected; for `has` `1` if a job of the key waits or runs, else `0`. `-1`: cannot skip, because the key runs. `-2`: a batch of another queue waits for the first job. `-3`: another epoch. `-4`: another job or payload than the named one is first
--
-- A running job goes on. Whoever waits for a skipped job finds that by looking again.
local jobs, task, key = KEYS[1], ARGV[1], ARGV[2]
try_lists(jobs, KEYS[2])
redis.call('ZCARD', beside(jobs, 'dead'))
local now = now_ms()
local line, set = line_of(jobs, task, key), merged_of(jobs, task, key)
local running = beside(jobs, 'running:' .. task)
local is_running = redis.pcall('HEXISTS', running, key) == 1

if ARGV[3] == 'has' and epoch_of(shards_of(jobs)) ~= tonumber(ARGV[4]) then return -3 end
if ARGV[3] == 'has' then return (is_running or redis.pcall('EXISTS', line) == 1) and 1 or 0 end

-- It waits for its time no more.
local function due_now()
  redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
  if is_running then return end
  redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. key)
  if has_merged(jobs, task, key) or redis.pcall('EXISTS', line) == 1 then
    stand(jobs, task, key, now * 1000)
    ring(KEYS[2])
  else
    redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)
  end
  note_first(jobs, task)
end

local named = ARGV[6] or ''
local failure = '"code":"Skipped","message":"It was skipped by hand"'

-- The first job of a line.
local function skip_job(message)
  local whole = with_lead(message, 'hand-' .. now_us_text(), now)
  local id, options = select(3, string.match(whole, leading)), options_of(whole)
  if named ~= '' and named ~= id then return -4 end
  local here, elsewhere = batches_of(jobs, id, options)
  if elsewhere[1] then return -2 end
  redis.call('LPOP', line)
  count_lined(jobs, task, -1)
  local failed = with_failure(whole, id, failure, now)
  bury(jobs, failed, now, ARGV[4], ARGV[5])
  for _, batch in ipairs(here) do tally(jobs, KEYS[2], batch, id, 'dead') end
  note_job(jobs, id, options, 'tries', options_of(failed).tries, 'error', string.format('{"at":%d,%s}', now, failure))
  end_job(jobs, id, options, 'dead', now)
  return 1
end

-- The payload with the lowest score.
local function skip_payload()
  local first = named ~= '' and redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES') or {}
  if named ~= '' and tonumber(first[2]) ~= tonumber(named) then return -4 end
  local popped = redis.pcall('ZPOPMIN', set, 1)
  if popped.err or not popped[1] then return 0 end
  if not has_merged(jobs, task, key) then count_lined(jobs, task, -1) end
  -- What is no JSON is kept as a text, and an infinite score, which only somebody else can have given, as none.
  local payload = pcall(cjson.decode, popped[1]) and popped[1] or cjson.encode(popped[1])
  local each = { key = key, payloads = { payload }, scores = { score_text(popped[2]) } }
  local tried = tried_again(jobs, task, key, failure, now)
  bury(jobs, payload_dead('m-' .. now_us_text() .. '-1', task, each, 1, tried, now), now, ARGV[4], ARGV[5])
  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), key)
  return 1
end

local function skip()
  if is_running then return -1 end
  local head = redis.pcall('LINDEX', line, 0)
  return type(head) == 'string' and skip_job(head) or type(head) ~= 'string' and skip_payload()
end

-- The payloads go. A line stays as it is, and due as it was; a key of which nothing waits any more stands nowhere.
local function delete()
  local count, lined = redis.pcall('ZCARD', set), redis.pcall('LLEN', line)
  count = type(count) == 'number' and count or 0
  if count > 0 then
    redis.call('UNLINK', set)
    count_lined(jobs, task, -1)
    redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
    if not is_running then redis.pcall('HDEL', beside(jobs, 'tried:' .. task), key) end
  end
  if not is_running and lined == 0 then
    redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. key)
    redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)
  end
  note_first(jobs, task)
  return count
end

local function drop()
  local from = key == '' and list_of(jobs, ARGV[4]) or line
  local is_head = key ~= '' and redis.pcall('LINDEX', from, 0) == ARGV[4]
  if redis.pcall('LREM', from, 1, ARGV[4]) ~= 1 then return 0 end
  if key ~= '' and is_head then leave_head(jobs, task, key) end
  if key ~= '' and not is_head then count_lined(jobs, task, -1) end
  return 1
end

local acts = {
  skip = skip,
  drop = drop,
  delete = delete,
  run = function()
    local lined = redis.pcall('LLEN', line)
    local merged = redis.pcall('ZCARD', set)
    return (type(lined) == 'number' and lined or 0) + (type(merged) == 'number' and merged or 0)
  end,
}
local count = acts[ARGV[3]]()
if count >= 0 and ARGV[3] ~= 'delete' and ARGV[3] ~= 'drop' then due_now() end
ring_for_jobs(jobs, KEYS[2])
return count
end }

redis.register_function{ function_name = 'pshub_1_schedule', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
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
end }

redis.register_function{ function_name = 'pshub_1_tick', callback = function(KEYS, ARGV)
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
end }

redis.register_function{ function_name = 'pshub_1_lock', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- lock: takes, renews or frees a lock that workers of all queues share.
--
-- Used by  worker, 10.15
-- KEYS[1]  HASH  pshub:lock:{<name>}
-- ARGV[1]  owner: an id of this one run
-- ARGV[2]  ms for which the lock is held unless it is renewed; `0` frees it
-- ARGV[3]  `1` to take it if it is free, `0` only to renew it
-- flags:   allow-oom
-- Returns  `{1, fencing token as text}` if this owner holds it, or held it until now; else `{0, ms after which to look again}`
--
-- A token is higher than all tokens before it: Redis' time in microseconds, or one more than the last. A writer with a higher token keeps
-- late ones from writing. A lease that ended is renewed all the same as long as nobody took the lock.
-- Whoever finds it taken looks again after about as long as it has been held so far, so that a short lock is not waited for long, nor a
-- long one polled often; one after the other, however many wait; and one of them when the lease would end, in case its holder died.
local least_wait, most_wait, apart = 100, 5000, 2
-- For so long its last token is known, should the clock of another server be behind.
local memory = 60000
-- No lease is longer, and turns that are later begin anew.
local longest, latest_turn = 3600000, 300000

local now = now_ms()
local lease = tonumber(ARGV[2])
local owner, fence, since, till, turn, heir, given =
  unpack(redis.call('HMGET', KEYS[1], 'owner', 'fence', 'since', 'till', 'turn', 'heir', 'lease'))
till, turn, given = tonumber(till) or 0, tonumber(turn) or 0, tonumber(given) or longest

if owner == ARGV[1] then
  if lease == 0 then
    redis.call('HDEL', KEYS[1], 'owner', 'turn', 'heir')
  else
    redis.call('HSET', KEYS[1], 'till', string.format('%d', now + lease), 'lease', ARGV[2])
  end
  redis.call('PEXPIRE', KEYS[1], string.format('%d', lease + memory))
  return { 1, fence }
end
if lease == 0 or ARGV[3] == '0' then return { 0, 0 } end

if not owner or till <= now then
  local token = string.format('%d', math.max((tonumber(fence) or 0) + 1, tonumber(now_us_text())))
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fence', token, 'since', string.format('%d', now), 'till', string.format('%d', now + lease),
    'lease', ARGV[2])
  redis.call('HDEL', KEYS[1], 'turn', 'heir')
  redis.call('PEXPIRE', KEYS[1], string.format('%d', lease + memory))
  return { 1, token }
end

-- What is later than that a clock said that was set back since: an owner that lives corrects it, and one that died must not have it.
if till > now + given then
  till = now + given
  redis.call('HSET', KEYS[1], 'till', string.format('%d', till))
end
if turn > now + latest_turn then turn = 0 end

local wait = math.max(least_wait, math.min(most_wait, now - (tonumber(since) or now)))
local look = math.max(now + wait, turn + apart)
if look > till and tonumber(heir) ~= till then
  redis.call('HSET', KEYS[1], 'heir', string.format('%d', till))
  return { 0, till - now }
end
redis.call('HSET', KEYS[1], 'turn', string.format('%d', look))
return { 0, look - now }
end }

redis.register_function{ function_name = 'pshub_1_admit', flags = { 'allow-oom' }, callback = function(KEYS, ARGV)
-- admit: admits one more run under a shared rate limit, and notes that it starts.
--
-- Used by  worker, 10.15
-- KEYS[1]  LIST  pshub:rate:{<name>}
-- KEYS[2]  STRING  pshub:told:{<name>}
-- ARGV[1]  how many runs may start in a period
-- ARGV[2]  the period, ms
-- ARGV[3]  `1` if this run comes back at the time that it gets, `0` if it may not
-- flags:   allow-oom
-- Returns  `0` if it may start now; else ms until it may, if no other run comes before it
--
-- A sliding window log: the start times of as many runs as may start in a period. So there are never more in any stretch of that length.
-- Runs that come back are told times one after the other, so that few come in vain; but no time more than five minutes ahead unless
-- nothing is free before: some runs that were told earlier times never come back, and would keep others waiting.
-- A time in the future was written before the clock was set back; it must not keep all waiting until that time has come again.
local most_wait = 300000

local now_text = now_us_text()
local now = tonumber(now_text)
local most, period = tonumber(ARGV[1]), ARGV[2] * 1000
local oldest = tonumber(redis.call('LINDEX', KEYS[1], -most) or 0) or 0
local free = oldest + period
-- What is later than now a clock said that was set back since: it must not keep all waiting until that time has come again.
if free <= now or oldest > now then
  redis.call('RPUSH', KEYS[1], now_text)
  redis.call('LTRIM', KEYS[1], -most, -1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
if ARGV[3] == '0' then return math.ceil((free - now) / 1000) end
local told = redis.pcall('GET', KEYS[2])
local behind = type(told) == 'string' and (tonumber(told) or 0) + period / most or 0
local due = math.max(free, math.min(behind, now + most_wait * 1000))
local wait = math.ceil((due - now) / 1000)
redis.call('SET', KEYS[2], string.format('%d', due), 'PX', string.format('%d', wait))
return wait
end }

redis.register_function{ function_name = 'pshub_1_declare', callback = function(KEYS, ARGV)
-- declare: publishes cards of tasks for one queue, without taking a task from another queue.
--
-- Used by  worker, 11
-- KEYS[1]  HASH  pshub:tasks
-- ARGV[1]  queue
-- ARGV[2..]  triples: full name of a task; its card; a queue that was found to have no live worker for it and loses the first place, or empty
-- Returns  `{task, queue that has it first, ...}` for tasks that another queue has first
--
-- A task may be in several queues: the first one has the field of the task's name, each further one a field <task>@<queue>.
-- A full Redis refuses it: the registry is only for others to see.
-- Cards were written by others and may be anything. The queue is searched in the first 1024 characters, where every writer puts it; a
-- card without it there, or one that is too long to be read as a card, belongs to nobody.
local elsewhere = {}
for i = 2, #ARGV, 3 do
  local task, card, dead = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local present = redis.call('HGET', KEYS[1], task)
  local first = present and #present <= 262144 and string.match(string.sub(present, 1, 1024), '"queue"%s*:%s*"([%w_.-]+)"')
  local further = task .. '@' .. ARGV[1]
  if not first or first == ARGV[1] or first == dead then
    redis.call('HSET', KEYS[1], task, card)
    redis.call('HDEL', KEYS[1], further)
  else
    redis.call('HSET', KEYS[1], further, card)
    elsewhere[#elsewhere + 1] = task
    elsewhere[#elsewhere + 1] = first
  end
end
return elsewhere
end }

redis.register_function{ function_name = 'pshub_1_denied', flags = { 'no-writes' }, callback = function(KEYS, ARGV)
-- denied: reports what the connected user may not do of what a role needs (14.3).
--
-- Used by  caller and worker, 14.3
-- ARGV[1]  role: `hub`, `jobs`, `worker`, `view`, `admin`, `registry` or `install`
-- ARGV[2]  namespace
-- ARGV[3]  queue
-- flags:   no-writes
-- Returns  `{command, key, ...}`; the key is empty if the command concerns none
--
-- acl_check_cmd runs nothing, needs no right of its own, and leaves no trace in the server's log of denials.
local denied = {}
for _, shape in ipairs(rights[ARGV[1]] or {}) do
  local words, key = {}, ''
  for i, word in ipairs(shape) do
    words[i] = string.gsub(word, '<(%a+)>', { namespace = ARGV[2], queue = ARGV[3] })
    if words[i] ~= word then key = words[i] end
  end
  if not redis.acl_check_cmd(unpack(words)) then
    local has_parts = words[1] == 'CLIENT' or words[1] == 'CLUSTER' or words[1] == 'FUNCTION'
    denied[#denied + 1] = has_parts and words[1] .. '|' .. words[2] or words[1]
    denied[#denied + 1] = key
  end
end
return denied
end }

redis.register_function{ function_name = 'pshub_1_revision', flags = { 'no-writes' }, callback = function(KEYS, ARGV)
-- revision: reports which revision of the library is loaded. A higher one does everything that a lower one does.
--
-- Used by  whoever loads the library, 13.1
-- flags:   no-writes
-- Returns  a number
return revision
end }
