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
