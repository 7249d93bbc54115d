-- adopt: take over what a worker held whose lease has ended, a bounded part of it per step.
--
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  HASH  pshub:{<queue>}:held:<lost worker>
-- KEYS[3]  HASH  pshub:{<queue>}:held:<this worker>
-- KEYS[4]  LIST  pshub:{<queue>}:taken:<lost worker>
-- ARGV[1]  lost worker's id
-- ARGV[2]  this worker's id
-- ARGV[3]  the most requests that are moved
-- ARGV[4]  ms for which the lost worker can take nothing by itself, once all is moved
-- Returns  { 1 if nothing is left there, lost:<id>, request, lost:<id>, request, ... }, or { -1 } when the other worker's lease holds
--          or this one's does not
--
-- A moved request is held by this worker in the same step: a crash at any moment leaves each request with one holder,
-- whose lease ends in turn. It is held as lost:<id>, so that nobody takes it for a claim of this worker's own: it may
-- have been started. From the first step on the lost worker's lease is 0, which its own beat cannot renew. A wait of its that
-- is still on the way here would take a call which nobody looks for: a string under the name of its list refuses that.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local mine = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not mine or tonumber(mine) < now_ms then return { -1 } end
local theirs = redis.call('ZSCORE', KEYS[1], ARGV[1])
if theirs and tonumber(theirs) >= now_ms then return { -1 } end

-- An error of this, which somebody else's key causes, comes before anything was moved.
redis.call('HLEN', KEYS[3])
redis.call('HLEN', KEYS[2])
-- Not a list: somebody else's key, or the string of an earlier adoption.
local taken = redis.pcall('LRANGE', KEYS[4], 0, -1)
for i = 1, taken.err and 0 or #taken do
  local id = string.match(taken[i], '^{"at":%d+,"ttl":%d+,"id":"([%w_-]+)"') or 'hand-' .. now_ms .. '-' .. i
  redis.call('LPOP', KEYS[4])
  redis.call('HSET', KEYS[2], id, taken[i])
end
local limit = tonumber(ARGV[3])
local cursor, found = '0', {}
-- A page may be empty though there is more: of a hash that was large, most places are.
repeat
  local page = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', limit)
  cursor, found = page[1], page[2]
until #found > 0 or cursor == '0'
local answer = { 1 }
for i = 1, math.min(#found, limit * 2), 2 do
  local field = found[i]
  if string.sub(field, 1, 5) ~= 'lost:' then field = 'lost:' .. field end
  redis.call('HDEL', KEYS[2], found[i])
  redis.call('HSET', KEYS[3], field, found[i + 1])
  answer[#answer + 1] = field
  answer[#answer + 1] = found[i + 1]
end
if redis.call('HLEN', KEYS[2]) > 0 then
  answer[1] = 0
  redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('SET', KEYS[4], 'adopted', 'NX', 'PX', ARGV[4])
end
return answer
