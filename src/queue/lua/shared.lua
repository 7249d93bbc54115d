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
