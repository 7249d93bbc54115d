-- beats: the beats of one worker for several queues, in one step. On a Cluster these share a slot.
--
-- KEYS[1]  ZSET  pshub:{<queue>}:leases
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- KEYS[3]  STRING  pshub:{<queue>}:reporter
-- KEYS[4]  LIST  pshub:{<queue>}:calls
-- KEYS[5]  STRING  pshub:{<queue>}:paused
-- KEYS[6]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[7]  LIST  pshub:{<queue>}:jobs
--          and the same seven of each further queue
-- ARGV[1..]  sevens: the arguments of beat.lua, for each queue
-- flags:   allow-oom
-- Returns  { { what beat.lua returns, { ids of what the worker holds there }, 1 if calls or jobs wait there, or jobs with keys run, else 0 }, ... },
--          with the text of Redis' error in the place of a queue whose keys cause one: it costs no other queue its lease.
--          The second one is null where that cannot be read
--
-- Tokens of bells may be lost with whoever took them. A worker of one queue finds what they announced with its next claim, which
-- follows each wait; a worker of several claims only where a bell rang.
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
