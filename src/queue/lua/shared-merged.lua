-- Merged jobs, as several functions use them; shared-keyed.lua comes before it. What waits of a key is a set of payloads, each of them once,
-- and one run takes those of several keys.
--
--   merged:<task>:<key>  ZSET  payload (JSON) -> score: what waits of a key
--   tried:<task>         HASH  key -> {"tries":<n>,"errors":[...],"losses":<n>}: how its runs failed so far; absent for a key that has not
--   next:<task>          HASH  key -> when what came while it runs is due (ms), unless that is at once
--   scores               HASH  task -> first, where the score that a payload came with first counts, and not the last one; last where it did
--
-- A job that waits, or is dead, has one payload:  ..."job":{"key":"<key>","merged":true,"score":<n>},"task":"<task>","args":<payload>}
-- A run is held like any job, and has all it took:  {"at":<us>,"ttl":0,"id":"m-<fence>",
--   "job":{"fence":<fence>,"run":[[<key>,<tries>,[<bytes>,<score>,...]],...]},"task":"<task>","args":[<payload>,...]}
-- Its payloads are in the order of its keys, the lowest score of each first; how many bytes each has says where it ends, so that none is
-- ever decoded and encoded again. Rules: Lowkiq (https://github.com/bia-technologies/lowkiq), which merges payloads of one id so.

local merged_args = '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":%b{},"task":"([^" ]*)","args":()'

-- Task and payload of a merged job; nil for any other.
local function payload_of(text, options)
  if options.merged ~= true or type(options.key) ~= 'string' then return nil end
  local task, from = string.match(text, merged_args)
  if task then return task, string.sub(text, from, -2) end
end

-- A score that can be one; nil for anything else.
local function finite(score)
  return type(score) == 'number' and math.abs(score) <= 1e300 and score or nil
end

-- A score as JSON: an infinite one, which only somebody else can have put there, is none.
local function score_text(score)
  return string.find(score, '^-?%d') and score or '0'
end

-- What a message of a run took: its task, and { key =, tries =, payloads = {}, scores = {} } of each key, or the keys alone; nil for any other
-- message.
local function run_of(message, options, keys_only)
  if type(options.run) ~= 'table' then return nil end
  local task, from = string.match(message, merged_args .. '%[')
  if not task then return nil end
  local run = {}
  from = from + 1
  for i, each in ipairs(options.run) do
    if type(each) ~= 'table' or type(each[1]) ~= 'string' or type(each[3]) ~= 'table' then return nil end
    local key, payloads, scores = each[1], {}, {}
    for k = 1, keys_only and 0 or #each[3] - 1, 2 do
      local bytes, score = tonumber(each[3][k]), finite(tonumber(each[3][k + 1]))
      if not bytes or not score then return nil end
      payloads[#payloads + 1] = string.sub(message, from, from + bytes - 1)
      scores[#scores + 1] = string.format('%.17g', score)
      from = from + bytes + 1
    end
    run[i] = { key = key, tries = tonumber(each[2]) or 0, payloads = payloads, scores = scores }
  end
  return task, run
end

-- As JSON in a job's part, in which no text has a bracket or a brace of its own.
local function json_text(text)
  if not string.find(text, '[^%w_.:@/ -]') then return '"' .. text .. '"' end
  return (string.gsub(cjson.encode(text), '[%[%]{}]', function(char) return string.format('\\u%04x', string.byte(char)) end))
end

-- Whether of equal payloads the score of the first enqueue counts, and not that of the last one.
local function counts_first(jobs, task)
  return redis.pcall('HGET', beside(jobs, 'scores'), task) == 'first'
end

-- Merges payloads into what waits of a key: scores and payloads in turn. `stays`: of equal ones the score counts that is there. Returns 1
-- when none was there, else 0; nil where something else has that name.
local function merge(jobs, task, key, scored, stays, step)
  local set = merged_of(jobs, task, key)
  local before = redis.pcall('ZCARD', set)
  if type(before) ~= 'number' then return nil end
  for from = 1, #scored, most_words do
    local last = math.min(from + most_words - 1, #scored)
    if stays and before > 0 then
      redis.call('ZADD', set, 'NX', unpack(scored, from, last))
    else
      redis.call('ZADD', set, unpack(scored, from, last))
    end
  end
  if before > 0 then return 0 end
  count_come(jobs, task, step)
  return 1
end

-- Puts a merged job to what waits of its key. What waits already keeps its time. False where that cannot be, because something else has one
-- of these names.
local function merge_new(jobs, at, text, options, due, added)
  local task, payload = payload_of(text, options)
  if not task then return false end
  added.merged = (added.merged or 0) + 1
  local is_first = options.scores == 'first'
  local known = of_step(added, task)
  if known.is_first == nil then known.is_first = counts_first(jobs, task) end
  if is_first ~= known.is_first then redis.pcall('HSET', beside(jobs, 'scores'), task, is_first and 'first' or 'last') end
  known.is_first = is_first
  -- Before it merges: what cannot stand anywhere is not to wait there. A key that stands nowhere, for whatever reason, stands again.
  local is_running = redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), options.key) == 1
  local stands, is_placed = is_running, false
  if not is_running then stands, is_placed = stand(jobs, task, options.key, at, due, added) end
  if not stands then return false end
  -- One step takes longer than a microsecond for each of them: these grow from step to step, too.
  local score = finite(options.score) or at + added.merged
  local is_new = merge(jobs, task, options.key, { string.format('%.17g', score), payload }, is_first, added)
  if not is_new then return false end
  -- Behind a job of before its task merged them, or a run: it keeps its own time.
  if due and is_new == 1 and (is_running or redis.pcall('EXISTS', line_of(jobs, task, options.key)) == 1) then
    redis.pcall('HSET', beside(jobs, 'next:' .. task), options.key, string.format('%.0f', due))
  end
  if is_placed and due then added.later = math.min(due, added.later or due) end
  if is_placed and not due then added.is_due = true end
  return true
end

-- Notes that a run has come to its end, for leave_lines().
local function leave_run(leaving, id, task, keys)
  local of_task = leaving[task] or {}
  for _, key in ipairs(keys) do
    of_task[#of_task + 1] = id
    of_task[#of_task + 1] = key
  end
  leaving[task] = of_task
end

-- Puts a dead payload back to what waits of its key: due now, and as if it had never failed. False for what is no merged job.
local function revive_merged(jobs, text, options)
  local task, payload = payload_of(text, options)
  if not task then return false end
  local now = tonumber(now_us_text())
  local scored = { string.format('%.17g', finite(options.score) or now), payload }
  if not merge(jobs, task, options.key, scored, not counts_first(jobs, task)) then return false end
  redis.pcall('HDEL', beside(jobs, 'next:' .. task), options.key)
  if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), options.key) == 1 then return true end
  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), options.key)
  redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. options.key)
  return stand(jobs, task, options.key, now)
end

-- Scores and payloads of a key of a run, but for one of them.
local function scored_of(each, without)
  local scored = {}
  for i = 1, #each.payloads do
    if i ~= without then
      scored[#scored + 1] = each.scores[i]
      scored[#scored + 1] = each.payloads[i]
    end
  end
  return scored
end

-- Where something else has the name of what waits of a key, its payloads wait one by one, as jobs.
local function go_alone(jobs, id, task, key, scored)
  for i = 1, #scored, 2 do
    local part = string.format('{"key":%s,"merged":true,"score":%s}', json_text(key), scored[i])
    local head = string.format('{"at":%s,"ttl":0,"id":"%s-%s","job":%s', now_us_text(), id, i, part)
    redis.call('RPUSH', jobs, head .. ',"task":"' .. task .. '","args":' .. scored[i + 1] .. '}')
  end
end

-- A key of a run that has ended waits again, with what comes back and what came meanwhile: due since a time (us), or at one (ms).
local function wait_again(jobs, id, task, key, scored, since, due)
  if scored[1] and not merge(jobs, task, key, scored, not counts_first(jobs, task)) then go_alone(jobs, id, task, key, scored) end
  if is_another(redis.pcall('HGET', beside(jobs, 'running:' .. task), key), id) then return end
  redis.pcall('HDEL', beside(jobs, 'next:' .. task), key)
  redis.pcall('HDEL', beside(jobs, 'running:' .. task), key)
  if redis.call('EXISTS', line_of(jobs, task, key)) == 1 then
    -- A hub that does not know yet that this task merges its jobs enqueued some meanwhile. They go first, as everywhere.
    if due then redis.pcall('HSET', beside(jobs, 'next:' .. task), key, string.format('%.0f', due)) end
    free_keys(jobs, task, { key })
  else
    if has_merged(jobs, task, key) then stand(jobs, task, key, since, due) end
  end
end

-- Puts back what a run took, due as it was. False for what is no run.
local function run_back(jobs, id, message, options)
  local task, run = run_of(message, options)
  if not task then return false end
  for _, each in ipairs(run) do
    wait_again(jobs, id, task, each.key, scored_of(each), tonumber(string.match(message, '^{"at":(%d+)')))
  end
  note_first(jobs, task)
  return true
end

-- How the runs of a key failed so far: its count of them, and the part of a message that says so.
local function tried_of(jobs, task, key)
  local part = redis.pcall('HGET', beside(jobs, 'tried:' .. task), key)
  part = type(part) == 'string' and part or '{}'
  return part, options_of('{"at":0,"ttl":0,"id":"x","job":' .. part)
end

-- The same with one more failure.
local function tried_again(jobs, task, key, failure, now)
  local part = tried_of(jobs, task, key)
  return part_of(with_failure('{"at":0,"ttl":0,"id":"x","job":' .. part .. '}', 'x', failure, now))
end

-- The payload of this place in a key of a run is given up: a dead job of its own. `tried`: how its runs failed.
local function payload_dead(id, task, each, place, tried, now)
  local errors = string.match(tried, '^({"tries":%d+,"errors":%b[])') or '{"tries":0,"errors":[]'
  local part = string.format('%s,"key":%s,"merged":true,"score":%s}', errors, json_text(each.key), each.scores[place])
  return string.format('{"at":%.0f000,"ttl":0,"id":"%s","job":%s,"task":"%s","args":%s}', now, id, part, task, each.payloads[place])
end

-- Gives up one payload of a key; its others wait again from now on, as if they had never failed. Returns how many of the dead made room,
-- and the dead one.
local function give_up_payload(jobs, id, number, task, each, place, tried, now, most, age_ms)
  local message = payload_dead(id .. '-' .. number, task, each, place, tried, now)
  local dropped = bury(jobs, message, now, most, age_ms)
  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), each.key)
  wait_again(jobs, id, task, each.key, scored_of(each, place), now * 1000)
  return dropped, message
end

-- What becomes of the keys of a run that did not end well, one word for each: r<ms>, it failed and is tried again after that; d<place>, it
-- failed, and the payload of that place is given up; x<place>, the same of one that is no JSON, which is kept as a text; b<ms>, it was not run,
-- and comes back after that. Returns how many dead jobs made room.
local function end_run(jobs, id, task, run, words, failure, now, most, age_ms)
  local number, dropped = 0, 0
  for word, count in string.gmatch(words, '(%a)(%d+)') do
    number = number + 1
    local each = run[number]
    if not each then break end
    if (word == 'd' or word == 'x') and each.payloads[count + 0] then
      if word == 'x' then each.payloads[count + 0] = cjson.encode(each.payloads[count + 0]) end
      local tried = tried_again(jobs, task, each.key, failure, now)
      dropped = dropped + give_up_payload(jobs, id, number, task, each, count + 0, tried, now, most, age_ms)
    else
      if word == 'r' then redis.pcall('HSET', beside(jobs, 'tried:' .. task), each.key, tried_again(jobs, task, each.key, failure, now)) end
      local due = count ~= '0' and now + count or nil
      wait_again(jobs, id, task, each.key, scored_of(each), now * 1000, due)
    end
  end
  for i = number + 1, #run do wait_again(jobs, id, task, run[i].key, scored_of(run[i]), now * 1000) end
  note_first(jobs, task)
  return dropped
end

-- The worker of a run was lost: each of its keys counts that, and is tried again until so many workers were lost with it. Returns the dead.
local function run_lost(jobs, id, task, run, at, most_losses, now, most, age_ms)
  local dead = {}
  for number, each in ipairs(run) do
    local part, state = tried_of(jobs, task, each.key)
    local losses = (tonumber(state.losses) or 0) + 1
    if losses < most_losses or not each.payloads[1] then
      local errors = string.match(part, '^({"tries":%d+,"errors":%b[])') or '{"tries":0,"errors":[]'
      redis.pcall('HSET', beside(jobs, 'tried:' .. task), each.key, string.format('%s,"losses":%d}', errors, losses))
      wait_again(jobs, id, task, each.key, scored_of(each), at)
    else
      local tried = tried_again(jobs, task, each.key, lost_failure(losses), now)
      local _, message = give_up_payload(jobs, id, number, task, each, 1, tried, now, most, age_ms)
      dead[#dead + 1] = message
    end
  end
  note_first(jobs, task)
  return dead
end
