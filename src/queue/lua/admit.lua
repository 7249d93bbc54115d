-- admit: whether one more may begin of those that share a rate, and if so, note that it does.
--
-- KEYS[1]  LIST  pshub:rate:{<name>}
-- KEYS[2]  STRING  pshub:told:{<name>}
-- ARGV[1]  how many may begin in a period
-- ARGV[2]  the period, ms
-- ARGV[3]  1 for one that comes back when it is told to, so that the next one is told a later time; 0 for one that may not
-- flags:   allow-oom
-- Returns  0 when it may begin now; else ms until it may, if no other one comes before it
--
-- A sliding window log: of each the time at which it began is kept, of as many as may begin in a period. So there are never more in any
-- stretch of that length, wherever it begins.
-- Those that come back are told times one behind the other, so that few come in vain; but none that is more than five minutes off unless
-- nothing is free before: of those that were told earlier ones some never come, cancelled or over, and would keep others waiting.
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
