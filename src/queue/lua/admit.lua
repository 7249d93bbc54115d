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
