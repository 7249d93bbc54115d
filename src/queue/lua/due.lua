-- due: moves a bounded number of due jobs into their lists.
--
-- Used by  worker, 10.11
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  the most jobs to move
-- ARGV[2]  byte limit; one job may exceed it
-- flags:   allow-oom
-- Returns  `{now, how many were moved, when the next one is due}`: us as text, a number, ms as text (empty if none waits)
--
-- It does not matter who runs it, nor how often: what is not due stays. The next one may be due already if there is too much for one step.
for _, list in ipairs(lists_of(KEYS[1])) do redis.call('LLEN', list) end
redis.call('LLEN', KEYS[2])
local now_text = now_us_text()
local now = string.format('%d', math.floor(now_text / 1000))
local moved, bytes_left = 0, tonumber(ARGV[2])

for _, name in ipairs({ 'scheduled', 'retries' }) do
  local set, page = beside(KEYS[1], name), 8
  while moved < tonumber(ARGV[1]) and bytes_left > 0 do
    local count = math.min(page, ARGV[1] - moved)
    local found = redis.pcall('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count)
    -- Somebody else's key.
    if found.err or #found == 0 then break end
    local largest, taken = 1, 0
    for i = 1, #found do
      if bytes_left <= 0 then break end
      arrive_late(KEYS[1], string.match(found[i], '"id":"([%w_-]+)"'), found[i])
      bytes_left = bytes_left - #found[i]
      if #found[i] > largest then largest = #found[i] end
      taken = i
    end
    -- They are the first of the set.
    redis.call('ZREMRANGEBYRANK', set, 0, taken - 1)
    moved = moved + taken
    page = math.max(1, math.floor(bytes_left / largest))
  end
end
moved = moved + stand_due(KEYS[1], ARGV[1] - moved)
if moved > 0 then ring(KEYS[2]) end
local due = next_due(KEYS[1])
return { now_text, moved, due and string.format('%d', due) or '' }
