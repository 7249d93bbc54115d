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
