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
