-- forward: puts jobs from another queue into this one, each of them once, however often it is sent.
--
-- Used by  worker, 10.13
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  ms for which an arrival is remembered, unless `came` is removed before
-- ARGV[2..]  jobs without their `at`
-- Returns  how many of them are new here
--
-- A worker holds such a job under out:<queue>:<id> until it knows that the job is here, and then removes `came`.
try_lists(KEYS[1], KEYS[2])
local at, came, added = now_us_text(), 0, {}
for i = 2, #ARGV do
  local id = string.match(ARGV[i], '"id":"([%w_-]+)"')
  if id and redis.call('SET', beside(KEYS[1], 'came:' .. id), '1', 'NX', 'PX', ARGV[1]) then
    add_job(KEYS[1], at, ARGV[i], added)
    came = came + 1
  end
end
arrive(KEYS[1], KEYS[2], added)
return came
