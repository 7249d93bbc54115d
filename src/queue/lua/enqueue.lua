-- enqueue: puts jobs of one hub into a queue, to run now or when they are due.
--
-- Used by  caller, 9.9
-- KEYS[1]  LIST    pshub:{<queue>}:jobs
-- KEYS[2]  LIST    pshub:{<queue>}:jobbell
-- KEYS[3]  STRING  pshub:{<queue>}:enqueued:<hub>
-- ARGV[1]  number of this batch, in decimal digits; a hub counts its batches per queue and has one in flight at a time
-- ARGV[2]  ms for which the number is remembered, so that a repeated batch is a no-op
-- ARGV[3..]  jobs without their `at`: `"ttl":<ms>,"id":"<id>",...}`
-- Returns  `{at, 1 if this batch was taken before or else 0, index, id, ...}`: indexes, from 1, of jobs that were not enqueued because a job with the same `unique` text exists, each with the id of that job
--
-- All of the batch or nothing: whatever can be refused (wrong type, full memory, more than 1000 jobs) is refused before the first job is
-- written.
local count = #ARGV - 2
if count > 1000 then return redis.error_reply('ERR at most 1000 jobs in one batch') end
local at = now_us_text()
try_lists(KEYS[1], KEYS[2])

local before = redis.call('GET', KEYS[3])
local number, answered = string.match(before or '', '^(%d+) (.+)$')
if number and tonumber(number) >= tonumber(ARGV[1]) then
  -- A lower number is the late copy of a batch that was given up: a cut connection may still deliver what it was sent.
  local answer = { at, 1 }
  if number == ARGV[1] then
    for text in string.gmatch(answered, '%S+') do answer[#answer + 1] = text end
    answer[1] = table.remove(answer, 3)
  end
  return answer
end

local added, twins = {}, {}
for i = 1, count do
  local there = add_job(KEYS[1], at, ARGV[i + 2], added)
  if there then
    twins[#twins + 1] = i
    twins[#twins + 1] = there
  end
end
arrive(KEYS[1], KEYS[2], added)
redis.call('SET', KEYS[3], ARGV[1] .. ' ' .. at .. ' ' .. table.concat(twins, ' '), 'PX', ARGV[2])
return { at, 0, unpack(twins) }
