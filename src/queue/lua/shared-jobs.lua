-- What several functions of the library use of jobs; shared.lua comes before it, and its head says what holds for all of these texts.

-- What belongs to the same queue as its list of jobs: all of its keys begin alike. Functions are given that list, and find what
-- else there is of jobs beside it.
local function beside(jobs, name)
  return string.sub(jobs, 1, -5) .. name
end

-- The next one that beats reports the queue, and looks after what is due.
local function end_turns(jobs, reporter, worker)
  for _, turn in ipairs({ reporter, beside(jobs, 'turn'), beside(jobs, 'ticker') }) do
    if redis.pcall('GET', turn) == worker then redis.call('DEL', turn) end
  end
end

-- Wakes the worker that looks after what is due. It is told with each beat, too: a token of which nobody takes notice goes by itself.
local function ring_due(jobs)
  local bell = beside(jobs, 'duebell')
  if redis.call('LLEN', bell) > 0 then return end
  redis.call('RPUSH', bell, '1')
  redis.call('PEXPIRE', bell, 60000)
end

-- The record of the shards over which a queue is spread, as text; empty where it is not, or what is there is none.
local function shards_of(jobs)
  local text = redis.pcall('GET', beside(jobs, 'shards'))
  return type(text) == 'string' and #text < 100000 and text or ''
end

-- The epoch of such a record; 0 of what is none. Epochs are counted, and none is as long as a time.
local function epoch_of(record)
  local digits = string.match(record, '^{"epoch":(%d+),')
  return digits and #digits < 16 and tonumber(digits) or 0
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

-- The same, read. It may be anything: then it is as good as none. Most of those that have a key have nothing else: to decode that took as
-- long as half of what else is done for them.
local function options_of(message)
  local part = part_of(message)
  if not part then return {} end
  local key = string.match(part, '^{"key":"([^"\\]*)"}$')
  if key then return { key = key } end
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

-- Milliseconds that somebody wrote into a job, as a number that Redis takes for a time or a life.
local function ms_of(value)
  local ms = tonumber(value)
  return ms and ms == ms and math.max(0, math.min(ms, 1e15)) or nil
end

-- For how long a job keeps others of its uniqueness away, as text.
local function unique_ms(options)
  return string.format('%.0f', math.max(1, ms_of(options.uniqueMs) or 86400000))
end

-- Notes how a tracked job fares. Somebody else's key in the place of its record costs the record alone.
local function note_job(jobs, id, options, ...)
  if options.keep then redis.pcall('HSET', beside(jobs, 'job:' .. id), ...) end
end

-- Notes when a job is not wanted any more that is due then (ms), of one that is not wanted for ever.
local function note_expiry(jobs, id, options, due, message)
  local _, ttl = string.match(message, leading)
  if ttl ~= '0' then note_job(jobs, id, options, 'expires', string.format('%.0f', due + ttl)) end
end

-- Whether a tracked job is not wanted any more. One that waits or runs goes on as if nothing were, until somebody looks.
local function is_cancelled(jobs, id, options)
  return options.keep ~= nil and redis.pcall('HGET', beside(jobs, 'job:' .. id), 'cancel') == '1'
end

-- The first time in a sorted set of times, or nil. What is somebody else's has none.
local function first_of(set)
  local head = redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES')
  local time = not head.err and tonumber(head[2]) or nil
  -- What is no time, an infinite one for example, comes never, or has come long ago.
  return time and time < 1e16 and math.max(0, time) or nil
end

-- The key that keeps others of its uniqueness away; nil for a job that has none.
local function lock_of(jobs, options)
  return type(options.unique) == 'string' and beside(jobs, 'unique:' .. options.unique) or nil
end

-- A job that is to wait holds its uniqueness. Returns the id of another one that does, which waits or runs: one without a record, that has
-- ended, or whose time to be wanted was over before it started, holds nothing.
local function hold_unique(jobs, id, options)
  local lock = lock_of(jobs, options)
  local there = lock and redis.pcall('SET', lock, id, 'NX', 'GET', 'PX', unique_ms(options))
  if type(there) ~= 'string' or there == id then return nil end
  local state, ended, expires = unpack(redis.pcall('HMGET', beside(jobs, 'job:' .. there), 'state', 'ended', 'expires'))
  local is_late = state ~= 'running' and (tonumber(expires or nil) or math.huge) <= now_ms()
  if state and not ended and not is_late then return there end
  redis.pcall('SET', lock, id, 'PX', unique_ms(options))
end

-- Others of its uniqueness may come.
local function free_unique(jobs, id, options)
  local lock = lock_of(jobs, options)
  if lock and redis.pcall('GET', lock) == id then redis.pcall('DEL', lock) end
end

-- A job has come to its end: what it kept from others is free again, and its record, if it has one, says so and goes in time.
-- Returns who waits for it: ticket, hub, ticket, hub, ...
local function end_job(jobs, id, options, state, now, ...)
  free_unique(jobs, id, options)
  local keep = ms_of(options.keep)
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
  redis.call('PEXPIRE', record, string.format('%.0f', math.max(1, keep)))
  return waiters
end

-- A tracked job that waits is not wanted any more. Its record stays until it would be taken. Who waits for its end finds that by looking again.
local function cancel_waiting(jobs, id, options)
  local record = beside(jobs, 'job:' .. id)
  -- A life of a millisecond would be over at times before it is taken back.
  end_job(jobs, id, { keep = 60000, unique = options.unique }, 'cancelled', now_ms())
  redis.pcall('HSET', record, 'cancel', '1')
  redis.pcall('PERSIST', record)
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

-- The failure of a job that so many workers were lost with.
local function lost_failure(losses)
  return string.format('"code":"WorkerLost","message":"%d workers that ran it died"', losses)
end

-- Keeps a job that is given up. The oldest make room, and go when they are too old. Returns how many did.
local function bury(jobs, message, now, most, age_ms)
  local dead = beside(jobs, 'dead')
  redis.call('ZADD', dead, now, message)
  local old = redis.call('ZREMRANGEBYSCORE', dead, '-inf', now - age_ms)
  return old + redis.call('ZREMRANGEBYRANK', dead, 0, -1 - most)
end
