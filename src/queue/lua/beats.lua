-- beats: does what `beat` does, for several queues of one worker in one step. On a Cluster they share a hash slot.
--
-- Used by  worker, 10.1
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- KEYS[3]  STRING  pshub:{<queue>}:reporter
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  STRING  pshub:{<queue>}:paused
-- KEYS[6]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[7]  LIST  pshub:{<queue>}:jobs
-- ARGV[1..]  sevens, the arguments of `beat` for each queue; the keys of further queues follow in sevens, too
-- flags:   allow-oom
-- Returns  an array of an answer for each queue, or the text of an error that its keys cause; such an error concerns no other queue
--   1  what `beat` returns
--   2  ids of what the worker holds there; null if they cannot be read
--   3  `1` if calls or jobs wait there, or jobs with keys run, else `0`
--
-- Tokens of bells may be lost with whoever took them. A worker of one queue finds what they announced with its next claim, which
-- follows each wait; a worker of several queues claims only from a queue whose bell rang.
local function has_work(calls, jobs)
  for _, count in ipairs({ redis.pcall('LLEN', calls), redis.pcall('EXISTS', beside(jobs, 'keyed'), unpack(lists_of(jobs))) }) do
    if type(count) == 'number' and count > 0 then return 1 end
  end
  return 0
end

local answers = {}
for i = 1, #KEYS, 7 do
  local done, beaten = pcall(beat_of, { unpack(KEYS, i, i + 6) }, { unpack(ARGV, i, i + 6) })
  if not done then
    beaten = beaten.err or tostring(beaten)
  else
    local held = redis.pcall('HKEYS', KEYS[i + 5])
    beaten = { beaten, not held.err and held, has_work(KEYS[i + 3], KEYS[i + 6]) }
  end
  answers[#answers + 1] = beaten
end
return answers
