-- await: somebody wants to hear how a tracked job ends.
--
-- KEYS[1]  HASH  pshub:{<queue>}:job:<job>
-- ARGV[1]  ticket: the id that the answer is to carry
-- ARGV[2]  hub id
-- ARGV[3]  the most that may wait for one job; the one that has waited longest makes room, and looks again by itself
-- ARGV[4]  ms for which it is noted where there is no record, of a job that is to come yet; 0 for any other
-- flags:   allow-oom
-- Returns  the fields of its record, as HGETALL does; empty when there is none
--
-- Who asks again about the same ticket waits once.
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
