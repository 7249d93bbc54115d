-- adopt: take over what a worker held whose lease has ended, a bounded part of it per step.
--
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  HASH  pshub:{<queue>}:held:<lost worker>
-- KEYS[3]  HASH  pshub:{<queue>}:held:<this worker>
-- ARGV[1]  lost worker's id
-- ARGV[2]  this worker's id
-- ARGV[3]  the most requests that are moved
-- ARGV[4]  bytes beyond which nothing more is moved: one request may exceed them
-- flags:   allow-oom
-- Returns  { 1 if nothing is left there, lost:<id>, request, lost:<id>, request, ... }, or { -1 } when the other worker's lease holds
--          or this one's does not
--
-- A moved request is held by this worker in the same step: a crash at any moment leaves each request with one holder,
-- whose lease ends in turn. It is held as lost:<id>, so that nobody takes it for a claim of this worker's own: it may
-- have been started. From the first step on the lost worker's lease is 0, which its own beat cannot renew.
local now = now_ms()
local mine = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not mine or tonumber(mine) < now then return { -1 } end
local theirs = redis.call('ZSCORE', KEYS[1], ARGV[1])
if theirs and tonumber(theirs) >= now then return { -1 } end

-- An error of this, which somebody else's key causes, comes before anything was moved.
redis.call('HLEN', KEYS[3])
-- Somebody else's key under the lost worker's name: then there is nothing to take over, now or later.
local found = redis.pcall('HRANDFIELD', KEYS[2], ARGV[3])
if found.err then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return { 1 }
end
local bytes_left = tonumber(ARGV[4])
local answer = { 1 }
for i = 1, #found do
  if bytes_left <= 0 then break end
  local message = redis.call('HGET', KEYS[2], found[i])
  local field = found[i]
  if not is_lost(field) then field = 'lost:' .. field end
  redis.call('HDEL', KEYS[2], found[i])
  redis.call('HSET', KEYS[3], field, message)
  bytes_left = bytes_left - #message
  answer[#answer + 1] = field
  answer[#answer + 1] = message
end
if redis.call('HLEN', KEYS[2]) > 0 then
  answer[1] = 0
  redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return answer
