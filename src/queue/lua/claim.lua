-- claim: takes requests for idle slots and records them as held, in one step. Calls go first, then jobs by priority.
--
-- Used by  worker, 10.2
-- KEYS[1]  LIST  pshub:{<queue>}:calls
-- KEYS[2]  LIST  pshub:{<queue>}:bell
-- KEYS[3]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[4]  ZSET  pshub:{<queue>}:leases
-- KEYS[5]  LIST  pshub:{<queue>}:jobs
-- KEYS[6]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1]  worker id
-- ARGV[2]  idle slots: the most requests to take, at most 1000
-- ARGV[3]  how many of these may be jobs; with `0` the jobs are not looked at
-- ARGV[4]  byte limit; one request may exceed it
-- ARGV[5]  epoch of the queue's shards from the last heartbeat, `0` if there are none
-- ARGV[6..]  threes, for each task whose jobs this worker merges: task, most keys per run, most payloads per key; then `1` if this worker fetches arguments that are stored apart
-- flags:   allow-oom
-- Returns  an array. `{now, requests}` alone if all are calls and elements 3 to 8 have nothing to say; `{now, -1}`, with nothing taken, if the worker has no lease, or if it asked for jobs with another epoch
--   1  now, us as text
--   2  the requests: calls, then jobs
--   3  number of calls left in the list
--   4  number of expired calls that were dropped
--   5  `{position, made-up id, ...}` of requests without an id at their beginning; positions count from 1
--   6  how many of the requests are calls
--   7  number of jobs left
--   8  `{position, ...}` of the requests whose arguments are to be fetched
--
-- A list that is left empty has its bell silenced; that of jobs only if the jobs were looked at.
-- Expired calls are dropped: nobody waits for them any more. They are not held and never start. An expired job is ended by the worker,
-- which tells whatever waits for it. A job that was cancelled while it waited is removed; if another queue must learn of that, the worker
-- holds the note and finds it when it next reconciles.
-- A call whose arguments are stored apart and missing is dropped if they were to be put into it: they expire some seconds after its deadline.
-- An answer of more than 100 kB extends the lease until it has arrived at 200 kB a second, plus 2 s, by at most 30 s.
-- A job is held as job:<id>: whoever puts it back knows its list by that. A merged run is one request, held as job:m-<fence>.
-- Short answers are worth it: each further element costs a worker that wakes for a lone call about a microsecond.
local max_drops = 1000
-- So many are popped blindly. How many more at once, the largest of those says: what turns out to be too much goes back.
local first_page = 8
-- Bytes that take a slow link half a second, and how many of them it takes in a ms.
local long_answer, slowest = 100000, 200
-- So many keys are looked at in one step, for runs of several keys.
local max_keys = 100

local now_text = now_us_text()
local now = tonumber(now_text)

-- Without a lease nobody would ever look for what this worker holds.
local lease = redis.call('ZSCORE', KEYS[4], ARGV[1])
if not lease or lease * 1000 < now then return { now_text, -1 } end

-- One look instead of four lists and the shards, where there are only calls: of a lone call that is a tenth of what it costs Redis.
local high, low = KEYS[5] .. ':high', KEYS[5] .. ':low'
local has_jobs = ARGV[3] ~= '0' and redis.call('EXISTS', high, beside(KEYS[5], 'keyed'), KEYS[5], low) > 0

-- Nobody takes jobs who knows of other shards than there are: it would run a key here that runs elsewhere, too.
if has_jobs and epoch_of(shards_of(KEYS[5])) ~= (tonumber(ARGV[5] or 0) or 0) then return { now_text, -1 } end

local requests, held, named, origins, apart = {}, {}, {}, {}, {}
local fetches = #ARGV % 3 == 0
local bytes_left = tonumber(ARGV[4])
local taken, dropped, cancelled, largest = 0, 0, 0, 1

-- An id for what came by hand, named in the answer.
local function made_up()
  local id = 'hand-' .. now_text .. '-' .. (taken + 1)
  named[#named + 1] = taken + 1
  named[#named + 1] = id
  return id
end

-- Takes one request into what is answered, and what is held. Its answer may say more than what is held: a token of its key, its arguments.
local function accept(message, held_id, list, said, size)
  taken = taken + 1
  size = size or #message
  bytes_left = bytes_left - size
  if size > largest then largest = size end
  requests[taken] = said or message
  origins[taken] = list
  held[taken * 2 - 1] = held_id
  held[taken * 2] = message
end

-- A call with arguments that lie beside it: how long it is with them, and, for a worker that does not fetch them, with them in it. Nil
-- where they are not there any more. The number says how many bytes they are, so that none is fetched to learn that.
local function with_args(message, id, behind)
  local from = string.sub(message, behind, behind + 17) == ',"idempotent":true' and behind + 18 or behind
  local bytes, rest = string.match(message, '^,"beside":(%d+)()', from)
  if not bytes then return #message end
  if fetches then
    apart[#apart + 1] = taken + 1
    return #message + tonumber(bytes)
  end
  local args = redis.pcall('GET', beside(KEYS[5], 'args:' .. id))
  if type(args) ~= 'string' then return nil end
  local whole = string.sub(message, 1, from - 1) .. ',"args":' .. args .. string.sub(message, rest)
  return #whole, whole
end

-- Takes up to `most` off a list. Returns 0 when nothing is left there, else -1: that is still to be counted.
local function take(list, most, prefix, begin)
  local last, page = taken + most, first_page
  while taken < last and bytes_left > 0 and dropped + cancelled < max_drops do
    local count = math.min(page, last - taken)
    local batch = redis.call('LPOP', list, count)
    if not batch then return 0 end
    for i = 1, #batch do
      local message = batch[i]
      if bytes_left <= 0 then
        for k = #batch, i, -1 do redis.call('LPUSH', list, batch[k]) end
        return -1
      end
      local at, ttl, id, behind = string.match(message, leading_and_behind)
      local is_wanted, size, said = true, #message, nil
      if prefix == '' then
        is_wanted = not at or ttl == '0' or tonumber(at) + tonumber(ttl) * 1000 > now
        if is_wanted and id then
          size, said = with_args(message, id, behind)
          is_wanted = size ~= nil
        end
        if not is_wanted then dropped = dropped + 1 end
      else
        if id and string.sub(message, behind, behind + 7) == ',"job":{' then is_wanted = begin(message, id) end
      end
      if is_wanted then
        id = id or made_up()
        accept(message, prefix .. id, list, said, size)
      end
    end
    if #batch < count then return 0 end
    page = math.max(1, math.floor(bytes_left / largest))
  end
  return -1
end

-- Takes jobs, up to so many requests in all. Returns 0 when none is left, else -1. What it is made of is made only where there are jobs.
local function take_jobs(last)
  local rules, keys_left = {}, max_keys
  -- Of a task that this worker does not merge.
  local alone = { batch = 1, payloads = 1 }
  for i = 6, #ARGV, 3 do rules[ARGV[i]] = { batch = tonumber(ARGV[i + 1]), payloads = tonumber(ARGV[i + 2]) } end

  -- What a job that carries more than its arguments wants done when it starts. False for one that was cancelled.
  local function begin(message, id)
    -- Found as text, because to read all of it takes longer than all else.
    local part = part_of(message) or ''
    if not string.find(part, '"keep"', 1, true) and not string.find(part, '"until"', 1, true) then return true end
    local options = options_of(message)
    if options.keep then
      if is_cancelled(KEYS[5], id, options) then
        tally_of(KEYS[5], KEYS[6], KEYS[3], {}, id, options, 'cancelled')
        end_job(KEYS[5], id, options, 'cancelled', math.floor(now / 1000))
        cancelled = cancelled + 1
        return false
      end
      note_job(KEYS[5], id, options, 'state', 'running', 'started', string.format('%d', now / 1000), 'worker', ARGV[1])
    end
    if options['until'] == 'started' then free_unique(KEYS[5], id, options) end
    return true
  end

  -- What is due of a task: key, since when, key, since when, ...; from `from` on it is not taken now.
  local function put_back(task, found, from)
    for i = from, #found, 2 do redis.pcall('ZADD', beside(KEYS[5], 'keys:' .. task), found[i + 1], found[i]) end
  end

  -- Takes the first jobs in the lines of these keys. Their answers tell the tokens. Returns those keys that have no line.
  local function take_lines(task, found, last, running)
    local others, fence, count = {}, found[1] and next_fence(KEYS[5], #found / 2), 0
    for i = 1, #found, 2 do
      if taken >= last or bytes_left <= 0 then
        put_back(task, found, i)
        break
      end
      local key, line = found[i], line_of(KEYS[5], task, found[i])
      local message = redis.pcall('LPOP', line)
      if type(message) ~= 'string' then
        others[#others + 1] = key
        others[#others + 1] = found[i + 1]
      else
        count = count + 1
        local _, _, id, behind = string.match(message, leading_and_behind)
        local is_job = id and string.sub(message, behind, behind + 7) == ',"job":{'
        if is_job and not begin(message, id) then
          free_keys(KEYS[5], task, { key })
        else
          id = is_job and id or made_up()
          local token = string.format('%.0f', fence + (i - 1) / 2)
          running[#running + 1] = key
          running[#running + 1] = token .. ' ' .. ARGV[1] .. ' ' .. id
          -- Its wait is counted from when its key was free.
          local told = string.format('"fence":%s,"since":%.0f,', token, math.min(now, tonumber(found[i + 1]) or 0))
          local said = is_job and string.sub(message, 1, behind + 7) .. told .. string.sub(message, behind + 8)
          accept(message, 'job:' .. id, nil, said or message)
        end
      end
    end
    if count > 0 then count_lined(KEYS[5], task, -count) end
    return others
  end

  local function has_lines(task, found)
    local lines = {}
    for i = 1, #found, 2 do lines[#lines + 1] = line_of(KEYS[5], task, found[i]) end
    return lines[1] and redis.pcall('EXISTS', unpack(lines)) ~= 0
  end

  -- Takes what waits of these keys, merged, in runs of so many keys as `rule` says. Returns those keys of which nothing does.
  local function take_runs(task, found, last, running, rule)
    if not found[1] then return found end
    local names, others, from = {}, {}, 1
    for i = 1, #found, 2 do names[#names + 1] = found[i] end
    local states = redis.pcall('HMGET', beside(KEYS[5], 'tried:' .. task), unpack(names))
    local fence = next_fence(KEYS[5], #names)
    while found[from] and taken < last and bytes_left > 0 do
      local token = string.format('%.0f', fence + (from - 1) / 2)
      local message, id, keys, behind = take_run(KEYS[5], task, found, from, rule, bytes_left, states, token, others)
      for _, key in ipairs(keys) do
        running[#running + 1] = key
        running[#running + 1] = token .. ' ' .. ARGV[1] .. ' ' .. id
      end
      if message then accept(message, 'job:' .. id) end
      from = behind
    end
    put_back(task, found, from)
    return others
  end

  -- Takes what is due of a task, of those keys first that have been due for the longest, for so many slots at the most.
  local function take_keyed(task, most)
    local rule, running, last = rules[task], {}, taken + most
    local count = math.min(most * (rule and rule.batch or 1), rule and keys_left or most)
    if rule then keys_left = keys_left - count end
    local found = redis.pcall('ZPOPMIN', beside(KEYS[5], 'keys:' .. task), count)
    if found.err then found = {} end
    -- Jobs of before a task merged them are older than the payloads behind them. What is not this worker's is handed back.
    if not rule or has_lines(task, found) then found = take_lines(task, found, last, running) end
    take_runs(task, found, last, running, rule or alone)
    if running[1] then redis.pcall('HSET', beside(KEYS[5], 'running:' .. task), unpack(running)) end
    note_first(KEYS[5], task)
  end

  -- Takes jobs of the middle rank and of keys that are due, each when it is the oldest of them.
  local function take_by_age(last)
    local page = first_page
    while taken < last and bytes_left > 0 and keys_left > 0 and dropped + cancelled < max_drops do
      local task, since, others = first_keyed(KEYS[5])
      if not task then return take(KEYS[5], last - taken, 'job:', begin) end
      local head = redis.call('LINDEX', KEYS[5], 0)
      local at = head and (tonumber(string.match(head, '^{"at":(%d+)')) or 0)
      if at and at <= since then
        take(KEYS[5], 1, 'job:', begin)
      else
        -- Many, while nothing else is there that could be older.
        local most = (at or others) and 1 or math.min(last - taken, page)
        take_keyed(task, most)
        page = math.max(1, math.floor(bytes_left / largest))
      end
    end
    return -1
  end

  local left = take(high, last - taken, 'job:', begin)
  if left == 0 then left = take_by_age(last) end
  if left == 0 then left = take(low, last - taken, 'job:', begin) end
  return left
end

local wanted = math.min(1000, tonumber(ARGV[2]))
local left, jobs_left = take(KEYS[1], wanted, ''), 0
local calls = taken
if has_jobs then
  local room = math.min(tonumber(ARGV[3]), wanted - taken)
  jobs_left = room > 0 and take_jobs(calls + room) or -1
end

if taken > 0 then
  -- Somebody else's key under that name, or a right that was taken away, must not cost what is popped already.
  local done = redis.pcall('HSET', KEYS[3], unpack(held))
  if type(done) == 'table' and done.err then
    for i = taken, 1, -1 do
      if origins[i] then
        redis.call('LPUSH', origins[i], held[i * 2])
      else
        return_job(KEYS[5], plain_id(held[i * 2 - 1]), held[i * 2])
      end
    end
    return done
  end
  -- On a slow link the beats wait behind this answer.
  local bytes = ARGV[4] - bytes_left
  local ends = now / 1000 + math.min(longest_claim, 2000 + bytes / slowest)
  if bytes > long_answer and ends > tonumber(lease) then redis.call('ZADD', KEYS[4], string.format('%.0f', ends), ARGV[1]) end
end

-- Wakes the next worker for what is left. A list that is empty has a silent bell: a token that stayed would have workers of several
-- queues claim from it again and again, while those behind it wait for ever on a link that is not loopback.
if left ~= 0 then left = redis.call('LLEN', KEYS[1]) end
if left > 0 then ring(KEYS[2]) else redis.call('DEL', KEYS[2]) end
-- A worker that may take jobs has perhaps taken their token, and then had no slot for them.
-- What follows a batch whose last job was passed over may have come behind all that was looked at.
if jobs_left ~= 0 or cancelled > 0 then jobs_left = jobs_waiting(KEYS[5]) end
if jobs_left > 0 then ring(KEYS[6]) end
if jobs_left == 0 and ARGV[3] ~= '0' then redis.call('DEL', KEYS[6]) end
if left == 0 and dropped == 0 and calls == taken and jobs_left == 0 and not named[1] and not apart[1] then return { now_text, requests } end
return { now_text, requests, left, dropped, named, calls, jobs_left, apart }
