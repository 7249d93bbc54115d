-- How jobs come, wait and come back, as several functions use it; shared-jobs.lua and shared-keyed.lua come before it.

-- A job waits again: until it starts it keeps others of its uniqueness away, unless one of them came while it ran. `...`: what its record says.
local function wait_again(jobs, id, options, ...)
  if options['until'] == 'started' then hold_unique(jobs, id, options) end
  note_job(jobs, id, options, ...)
end

-- Puts a job back at the head of its list, as if it had not been taken; one with a key at the head of its line.
local function return_job(jobs, id, message, side)
  local options = options_of(message)
  if run_back(jobs, id, message, options) then return end
  if not options.key or not come_back(jobs, id, message, options) then
    redis.call(side or 'LPUSH', list_of(jobs, message), message)
  end
  if is_cancelled(jobs, id, options) then return cancel_waiting(jobs, id, options) end
  wait_again(jobs, id, options, 'state', 'waiting')
end

-- Puts a job behind all others of its list, or of its key.
local function line_up_again(jobs, message, options)
  if revive_merged(jobs, message, options) then return end
  local key, task = key_of(message, options)
  if key and line_up(jobs, task, key, message, tonumber(now_us_text())) then return end
  redis.call('RPUSH', list_of(jobs, message), message)
end

-- Puts a job whose time has come where it waits to be taken.
local function arrive_late(jobs, id, message)
  local options = options_of(message)
  line_up_again(jobs, message, options)
  if not is_cancelled(jobs, id, options) then note_job(jobs, id, options, 'state', 'waiting') end
end

-- How many jobs wait to be taken: of each key that is due one.
local function jobs_waiting(jobs)
  local count = keys_due(jobs)
  for _, list in ipairs(lists_of(jobs)) do count = count + redis.call('LLEN', list) end
  return count
end

-- Wakes a worker for jobs that wait. Where none does nobody may be there to take a token, and it would stay.
local function ring_for_jobs(jobs, bell)
  if jobs_waiting(jobs) > 0 then ring(bell) else redis.call('DEL', bell) end
end

-- When the first of those jobs is due that wait for their time, Redis milliseconds; nil when none waits.
local function next_due(jobs)
  local first
  for _, name in ipairs({ 'scheduled', 'retries', 'later' }) do
    local time = first_of(beside(jobs, name))
    if time and (not first or time < first) then first = time end
  end
  return first
end

-- Puts jobs where they wait for their time (when it comes, job, when, job, ...), and wakes a worker that sets its clock by the first
-- of them when all others are later.
local function postpone(jobs, name, later)
  local first, before = later[1], next_due(jobs)
  for i = 3, #later, 2 do first = math.min(first, later[i]) end
  redis.call('ZADD', beside(jobs, name), unpack(later))
  if not before or first < before then ring_due(jobs) end
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

-- Puts a job with a key to those of its key. False where it has to do without.
local function line_up_new(jobs, text, options, since, due, added)
  if merge_new(jobs, since, text, options, due, added) then return true end
  local key, task = key_of(text, options)
  if not key or not line_up(jobs, task, key, text, since, due, added) then return false end
  if due then added.later = math.min(due, added.later or due) else added.is_due = true end
  return true
end

-- The record of a tracked job that comes.
local function begin_record(jobs, id, text, options, state, now, due)
  if not options.keep then return end
  local task = string.match(text, '"job":%b{},"task":"([^"]*)"')
  note_job(jobs, id, options, 'state', state, 'task', task or '', 'enqueued', string.format('%d', now),
    'due', string.format('%d', due), 'unique', options.unique or '')
  if options.key then note_job(jobs, id, options, 'key', options.key) end
  note_expiry(jobs, id, options, due, text)
  if type(options.steps) == 'table' then note_job(jobs, id, options, 'chain', options.chain, 'steps', cjson.encode(options.steps)) end
  -- Somebody may wait for it already.
  redis.pcall('PERSIST', beside(jobs, 'job:' .. id))
end

-- Puts one job into its queue, unless one of the same uniqueness is there, whose id is returned, or it was cancelled before it came.
-- The batch of one that is there waits for that one's end. What is to be done with a job its `job` says: `due` (Redis ms) or `delay` (ms),
-- `priority`, `unique` with `uniqueMs`, `keep`. A job that is not due yet has its due time as its `at`. `message`: without its `at`.
-- `added`: those of one step, for which arrive() is to be called; with `follows` where somebody may wait for them already.
local function add_job(jobs, at, message, added)
  local text = '{"at":' .. at .. ',' .. message
  if not string.find(message, '^"ttl":%d+,"id":"[%w_-]+","job":{') then return waits(added, jobs, text) end
  local now, id, options = math.floor(at / 1000), string.match(message, '"id":"([%w_-]+)"'), options_of(text)
  if is_cancelled(jobs, id, options) then return nil end
  local there = hold_unique(jobs, id, options)
  if there then
    -- Nobody is to wait for what never comes.
    if options.chain or added.follows then end_job(jobs, id, { keep = options.keep }, 'cancelled', now) end
    if type(options.batch) == 'string' then redis.pcall('HSET', beside(jobs, 'job:' .. there), 'batch:' .. options.batch, '1') end
    return there
  end
  local due = ms_of(options.due) or now + (ms_of(options.delay) or 0)
  begin_record(jobs, id, text, options, due > now and 'scheduled' or 'waiting', now, due)
  if due > now then text = string.format('{"at":%d000,', due) .. message end
  if options.key and line_up_new(jobs, text, options, tonumber(at), due > now and due, added) then return nil end
  if due > now then
    added[#added + 1] = due
    added[#added + 1] = text
    return nil
  end
  waits(added, list_of(jobs, text), text)
end

-- Puts the jobs of one step into their lists, and those away that wait for their time, and tells workers of them.
local function arrive(jobs, bell, added)
  count_step(jobs, added)
  for list, texts in pairs(added.waiting or {}) do redis.call('RPUSH', list, unpack(texts)) end
  if added.waiting then ring(bell) end
  if added.is_due then ring(bell) end
  -- A worker sets its clock by the first of them.
  if added.later and added.later <= (next_due(jobs) or 0) then ring_due(jobs) end
  if added[1] then postpone(jobs, 'scheduled', added) end
end

-- Ends a batch of which all have ended.
local function complete_batch(jobs, bell, batch)
  local record = beside(jobs, 'batch:' .. batch)
  local total, done, dead, after, failed = unpack(redis.call('HMGET', record, 'total', 'done', 'dead', 'then', 'failed'))
  done, dead = tonumber(done or 0), tonumber(dead or 0)
  if not total or done + dead < tonumber(total) or redis.call('HSETNX', record, 'ended', now_ms()) == 0 then return end
  local message = dead > 0 and failed ~= '' and failed or after
  local added = { follows = true }
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
  -- Until it is closed both go together.
  local left = redis.pcall('PTTL', record)
  if type(left) == 'number' and left > 0 then redis.pcall('PEXPIRE', ended, left) end
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

-- The batches that wait for the end of a job, its own and those of its twins: of this queue, and of others { queue, batch, what tells it }.
local function batches_of(jobs, id, options)
  local here, elsewhere = {}, {}
  local function note(text, telling)
    local queue, batch = string.match(text, '^([%w_.-]+)/([%w_-]+)$')
    if queue == string.match(jobs, '{(.-)}') then
      here[#here + 1] = batch
    else
      if queue then elsewhere[#elsewhere + 1] = { queue, batch, telling or id .. '-' .. batch } end
    end
  end
  if type(options.batch) == 'string' then note(options.batch, id) end
  local fields = lock_of(jobs, options) and redis.pcall('HKEYS', beside(jobs, 'job:' .. id)) or {}
  for _, field in ipairs(fields) do
    local other = string.match(field, '^batch:(.+)$')
    if other and other ~= options.batch then note(other) end
  end
  return here, elsewhere
end

-- Tells the batches of a job, here or in other queues, that it has ended.
local function tally_of(jobs, bell, held, outs, id, options, how)
  local here, elsewhere = batches_of(jobs, id, options)
  for _, batch in ipairs(here) do tally(jobs, bell, batch, id, how) end
  for _, each in ipairs(elsewhere) do
    send_out(held, outs, each[1], each[3], 'tally ' .. each[2] .. ' ' .. id .. ' ' .. how)
  end
end

