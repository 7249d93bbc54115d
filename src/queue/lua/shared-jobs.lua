-- What several functions of the library use of jobs; shared.lua comes before it, and its head says what holds for all of these texts.

-- What belongs to the same queue as its list of jobs: all of its keys begin alike. Functions are given that list, and find what
-- else there is of jobs beside it.
local function beside(jobs, name)
  return string.sub(jobs, 1, -5) .. name
end

-- The lists of jobs, in the order in which they are taken.
local function lists_of(jobs)
  return { jobs .. ':high', jobs, jobs .. ':low' }
end

-- What a job has beside its arguments: its `job`, an object right behind its id; nil where it has none. No text in there has a brace
-- or a bracket of its own, so that it ends where they are balanced. Nothing else is taken out: each text costs as much as the search.
local function part_of(message)
  return string.match(message, '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","job":(%b{})')
end

-- The same, read. It may be anything: then it is as good as none.
local function options_of(message)
  local part = part_of(message)
  if not part then return {} end
  local done, options = pcall(cjson.decode, part)
  return done and type(options) == 'table' and options or {}
end

-- The list that a job belongs into.
local function list_of(jobs, message)
  local part = part_of(message)
  if part and string.find(part, '"priority":"high"', 1, true) then return jobs .. ':high' end
  if part and string.find(part, '"priority":"low"', 1, true) then return jobs .. ':low' end
  return jobs
end

-- A job with its leading fields; one that was pushed by hand gets the id that it is held under.
local function with_lead(message, id, now)
  if string.match(message, leading) then return message end
  return string.format('{"at":%d000,"ttl":0,"id":"%s",', now, id) .. (string.match(message, '^%s*{(.*)$') or '}')
end

-- For how long a job keeps others of its uniqueness away, as text.
local function unique_ms(options)
  return string.format('%d', tonumber(options.uniqueMs) or 86400000)
end

-- Notes how a tracked job fares. Somebody else's key in the place of its record costs the record alone.
local function note_job(jobs, id, options, ...)
  if options.keep then redis.pcall('HSET', beside(jobs, 'job:' .. id), ...) end
end

-- Whether a tracked job is not wanted any more. One that waits or runs goes on as if nothing were, until somebody looks.
local function is_cancelled(jobs, id, options)
  return options.keep ~= nil and redis.pcall('HGET', beside(jobs, 'job:' .. id), 'cancel') == '1'
end

-- Puts a job back at the head of its list, as if it had not been taken.
local function return_job(jobs, id, message, side)
  redis.call(side or 'LPUSH', list_of(jobs, message), message)
  local options = options_of(message)
  if not is_cancelled(jobs, id, options) then note_job(jobs, id, options, 'state', 'waiting') end
end

-- How many jobs wait to be taken.
local function jobs_waiting(jobs)
  local count = 0
  for _, list in ipairs(lists_of(jobs)) do count = count + redis.call('LLEN', list) end
  return count
end

-- The first time in a sorted set of times, or nil. What is somebody else's has none.
local function first_of(set)
  local head = redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES')
  local time = not head.err and tonumber(head[2]) or nil
  -- What is no time, an infinite one for example, comes never, or has come long ago.
  return time and time < 1e16 and math.max(0, time) or nil
end

-- When the first of those jobs is due that wait for their time, Redis milliseconds; nil when none waits.
local function next_due(jobs)
  local scheduled, retry = first_of(beside(jobs, 'scheduled')), first_of(beside(jobs, 'retries'))
  return scheduled and retry and math.min(scheduled, retry) or scheduled or retry
end

-- Puts jobs where they wait for their time (when it comes, job, when, job, ...), and wakes a worker that sets its clock by the first
-- of them when all others are later.
local function postpone(jobs, name, later)
  local first, before = later[1], next_due(jobs)
  for i = 3, #later, 2 do first = math.min(first, later[i]) end
  redis.call('ZADD', beside(jobs, name), unpack(later))
  if not before or first < before then ring(beside(jobs, 'duebell')) end
end

-- A job has come to its end: what it kept from others is free again, and its record, if it has one, says so and goes in time.
-- Returns who waits for it: ticket, hub, ticket, hub, ...
local function end_job(jobs, id, options, state, now, ...)
  if type(options.unique) == 'string' then
    local lock = beside(jobs, 'unique:' .. options.unique)
    if redis.pcall('GET', lock) == id then redis.pcall('DEL', lock) end
  end
  local keep = tonumber(options.keep)
  if not keep then return {} end
  local record = beside(jobs, 'job:' .. id)
  local fields, waiters = redis.pcall('HGETALL', record), {}
  if fields.err then return {} end
  for i = 1, #fields, 2 do
    local ticket = string.match(fields[i], '^wait:(.+)$')
    if ticket then
      waiters[#waiters + 1] = ticket
      waiters[#waiters + 1] = fields[i + 1]
      redis.call('HDEL', record, fields[i])
    end
  end
  redis.call('HSET', record, 'state', state, 'ended', string.format('%d', now), ...)
  redis.call('PEXPIRE', record, string.format('%d', math.max(1, keep)))
  return waiters
end

-- An error of these, which somebody else's keys cause, is to come before anything was changed.
local function try_lists(jobs, bell)
  for _, list in ipairs(lists_of(jobs)) do redis.call('LLEN', list) end
  redis.call('LLEN', bell)
  redis.call('LLEN', beside(jobs, 'duebell'))
  redis.call('ZCARD', beside(jobs, 'scheduled'))
end

-- One command for all that go into a list: one for each was a third of what it costs Redis to enqueue many.
local function waits(added, list, text)
  added.waiting = added.waiting or {}
  local texts = added.waiting[list] or {}
  texts[#texts + 1] = text
  added.waiting[list] = texts
end

-- Puts one job into its queue, unless one of the same uniqueness is there, whose id is returned, or it was cancelled before it came.
-- What is to be done with it its `job` says: `due` (Redis ms) or `delay` (ms), `priority`, `unique` with `uniqueMs`, `keep`. A job that is
-- not due yet has its due time as its `at`. `message`: without its `at`. `added`: those of one step, for which arrive() is to be called.
local function add_job(jobs, at, message, added)
  local text = '{"at":' .. at .. ',' .. message
  if not string.find(message, '^"ttl":%d+,"id":"[%w_-]+","job":{') then return waits(added, jobs, text) end
  local now, id, options = math.floor(at / 1000), string.match(message, '"id":"([%w_-]+)"'), options_of(text)
  if is_cancelled(jobs, id, options) then return nil end
  if type(options.unique) == 'string' then
    local there = redis.pcall('SET', beside(jobs, 'unique:' .. options.unique), id, 'NX', 'GET', 'PX', unique_ms(options))
    if type(there) == 'string' and there ~= id then
      -- Who waits for a step of a chain is not to wait for one that never comes.
      if options.chain then end_job(jobs, id, { keep = options.keep }, 'cancelled', now) end
      return there
    end
  end
  local due = tonumber(options.due) or now + (tonumber(options.delay) or 0)
  if options.keep then
    local task = string.match(text, '"job":%b{},"task":"([^"]*)"')
    note_job(jobs, id, options, 'state', due > now and 'scheduled' or 'waiting', 'task', task or '', 'enqueued',
      string.format('%d', now), 'due', string.format('%d', due), 'unique', options.unique or '')
    -- Somebody may wait for it already.
    redis.pcall('PERSIST', beside(jobs, 'job:' .. id))
  end
  if type(options.steps) == 'table' then note_job(jobs, id, options, 'chain', options.chain, 'steps', cjson.encode(options.steps)) end
  if due > now then
    added[#added + 1] = due
    added[#added + 1] = string.format('{"at":%d000,', due) .. message
    return nil
  end
  waits(added, list_of(jobs, text), text)
end

-- Puts the jobs of one step into their lists, and those away that wait for their time, and tells workers of them.
local function arrive(jobs, bell, added)
  for list, texts in pairs(added.waiting or {}) do redis.call('RPUSH', list, unpack(texts)) end
  if added.waiting then ring(bell) end
  if added[1] then postpone(jobs, 'scheduled', added) end
end

-- Ends a batch of which all have ended.
local function complete_batch(jobs, bell, batch)
  local record = beside(jobs, 'batch:' .. batch)
  local total, done, dead, after, failed = unpack(redis.call('HMGET', record, 'total', 'done', 'dead', 'then', 'failed'))
  done, dead = tonumber(done or 0), tonumber(dead or 0)
  if not total or done + dead < tonumber(total) or redis.call('HSETNX', record, 'ended', now_ms()) == 0 then return end
  local message = dead > 0 and failed ~= '' and failed or after
  local added = {}
  if message ~= '' then add_job(jobs, now_us_text(), message, added) end
  arrive(jobs, bell, added)
  redis.call('DEL', beside(jobs, 'ended:' .. batch))
  redis.call('PEXPIRE', record, 3600000)
end

-- One of a batch has ended. Each counts once, however often it is told. What is to follow the last one is put into the queue of the batch.
local function tally(jobs, bell, batch, id, how)
  local record = beside(jobs, 'batch:' .. batch)
  local ended = beside(jobs, 'ended:' .. batch)
  -- Somebody else's keys in their places cost the batch alone.
  local opened, is_over = unpack(redis.pcall('HMGET', record, 'opened', 'ended'))
  if not opened or is_over or redis.pcall('SADD', ended, id) ~= 1 then return end
  redis.pcall('HINCRBY', record, how == 'done' and 'done' or 'dead', 1)
  complete_batch(jobs, bell, batch)
end

-- What is to be done in another queue once something ended here: it is held like a request until it is done there, so that it survives
-- the worker. As out:<queue>:<id>; returned are these two, for the worker to do it.
local function send_out(held, outs, queue, id, text)
  local held_id = 'out:' .. queue .. ':' .. id
  redis.call('HSET', held, held_id, text)
  outs[#outs + 1] = held_id
  outs[#outs + 1] = text
end

-- Tells the batch of a job, here or in another queue, that it has ended.
local function tally_of(jobs, bell, held, outs, id, options, how)
  if type(options.batch) ~= 'string' then return end
  local queue, batch = string.match(options.batch, '^([%w_.-]+)/([%w_-]+)$')
  if not queue then return end
  if queue == string.match(jobs, '{(.-)}') then return tally(jobs, bell, batch, id, how) end
  send_out(held, outs, queue, id, 'tally ' .. batch .. ' ' .. id .. ' ' .. how)
end

-- A job with one more failure in it: how many there were, and the last ten of them. `failure` is JSON without its time and braces.
-- Its time is spliced in as text, like all else: a payload is never decoded and encoded again.
local max_failures = 10
local function with_failure(message, id, failure, now)
  local whole = with_lead(message, id, now)
  local at, ttl, own, behind = string.match(whole, leading_and_behind)
  local rest = string.sub(whole, behind)
  local part, after = string.match(rest, '^,"job":(%b{})(.*)$')
  part = part or '{}'
  local tries, failures, others = string.match(part, '^{"tries":(%d+),"errors":(%b[])(.*)}$')
  if not tries then
    tries, failures = 0, '[]'
    others = #part > 2 and ',' .. string.sub(part, 2, -2) or ''
  end
  local kept = {}
  for each in string.gmatch(string.sub(failures, 2, -2), '%b{}') do kept[#kept + 1] = each end
  kept[#kept + 1] = string.format('{"at":%d,%s}', now, failure)
  local from = math.max(1, #kept - max_failures + 1)
  local head = string.format('{"at":%s,"ttl":%s,"id":"%s"', at, ttl, own)
  local tried = string.format('"tries":%d,"errors":[', math.min(tries + 1, 1000000))
  return head .. ',"job":{' .. tried .. table.concat(kept, ',', from) .. ']' .. others .. '}' .. (after or rest)
end

-- Keeps a job that is given up. The oldest make room, and go when they are too old. Returns how many did.
local function bury(jobs, message, now, most, age_ms)
  local dead = beside(jobs, 'dead')
  redis.call('ZADD', dead, now, message)
  local old = redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - age_ms)
  return old + redis.call('ZREMRANGEBYRANK', dead, 0, -1 - most)
end
