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
