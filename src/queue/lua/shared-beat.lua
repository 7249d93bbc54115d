-- A beat, as beat.lua and beats.lua use it; shared-jobs.lua, shared-keyed.lua, shared-runs.lua and shared-arrivals.lua come before it.

-- A lease that ended is renewed all the same as long as nobody adopted from this worker (adopting sets it to 0 and then removes it): an
-- outage of Redis itself costs no worker its identity. Whoever adopts leaves nothing here before it removes the lease; so what is held
-- without one lost it with the whole key, and nobody else would ever look for that.
-- An extension by a claim stays.
-- A lease that ends later than any beat or claim can have set it shows that Redis' clock was set back. Whoever renews first then moves all
-- others back as far; else nobody would adopt from those who died just then before the clock is where it was.
-- Foreign keys must not cost the lease: commands that the lease does not need run with pcall.
-- One worker of a queue reports: whoever beats first while nobody does, until it stops beating. The same holds for due jobs and for
-- schedules; two workers at once, or none for a moment, cost only time.
-- Nobody claims without a lease, and nobody gets one without being told of a pause.
-- Thousands of workers beat each second, and the commands here cost less than the call: each command more, and each number that is not
-- turned into text here, which Redis does by way of all its digits.
local function beat_of(keys, args)
  local now_text = now_us_text()
  local now_ms = string.sub(now_text, 1, -4)
  local now = tonumber(now_ms)

  local ends, longest = now + args[2], now + args[2] + longest_claim
  if args[3] == '0' then
    local lease = redis.call('ZSCORE', keys[1], args[1])
    local held = not lease and redis.pcall('HLEN', keys[6])
    if lease and tonumber(lease) == 0 or held and (type(held) ~= 'number' or held == 0) then
      return { now_text, 0, {}, {}, {} }
    end
    lease = tonumber(lease or 0)
    if lease > longest then
      local back = lease - longest
      local others = redis.call('ZRANGEBYSCORE', keys[1], string.format('(%.0f', now + back), '+inf', 'WITHSCORES')
      for i = 1, #others, 2 do
        redis.call('ZADD', keys[1], string.format('%.0f', others[i + 1] - back), others[i])
      end
    else
      ends = math.max(ends, lease)
    end
  end
  redis.call('ZADD', keys[1], string.format('%.0f', ends), args[1])
  local ended = redis.call('ZRANGEBYSCORE', keys[1], '-inf', '(' .. now_ms, 'LIMIT', '0', '16')

  -- Nearly always nobody gave up lately. What is older goes, once it was seen.
  local cancelled = redis.pcall('ZRANGE', keys[2], '0', '999', 'REV')
  if cancelled.err then cancelled = {} end
  if cancelled[1] and redis.call('ZREMRANGEBYSCORE', keys[2], '-inf', now - args[4]) > 0 then
    cancelled = redis.call('ZRANGE', keys[2], '0', '999', 'REV')
  end

  -- Whether it is this worker's turn, for so many milliseconds. What is somebody else's, and no word, is nobody's turn.
  local function has_turn(key, ms)
    local holder = redis.pcall('GET', key)
    if holder ~= false and holder ~= args[1] then return false end
    redis.pcall('SET', key, args[1], 'PX', ms)
    return true
  end

  local jobs, figures = keys[7], {}
  if (args[5] or '0') ~= '0' and has_turn(keys[3], args[5]) then
    -- How many are in a set; somebody else's key has none.
    local function count_of(set)
      local count = redis.pcall('ZCARD', set)
      return type(count) == 'number' and count or 0
    end

    -- What a message of a list, or nothing, says that it was pushed or due at (us), as text.
    local function at_of(head)
      return type(head) == 'string' and string.match(string.sub(head, 1, 40), '^{"at":(%d+),') or ''
    end

    -- Of each list the first one is looked at, and of those whose time has come and that are not there yet.
    local function job_figures()
      local waiting, oldest = 0, nil
      for _, list in ipairs(lists_of(jobs)) do
        local length, at = redis.pcall('LLEN', list), tonumber(at_of(redis.pcall('LINDEX', list, 0)))
        if type(length) == 'number' then waiting = waiting + length end
        if at and (not oldest or at < oldest) then oldest = at end
      end
      waiting = waiting + jobs_lined(jobs)
      local _, since = first_keyed(jobs)
      if since and (not oldest or since < oldest) then oldest = since end
      local due = next_due(jobs)
      if due and due <= now and (not oldest or due * 1000 < oldest) then oldest = due * 1000 end
      return waiting, oldest and string.format('%d', oldest) or ''
    end

    local length, head = redis.pcall('LLEN', keys[4]), redis.pcall('LINDEX', keys[4], 0)
    if type(length) == 'number' then
      figures = { length, at_of(head) }
      if jobs then
        figures[3], figures[4] = job_figures()
        for _, name in ipairs({ 'scheduled', 'retries', 'dead' }) do figures[#figures + 1] = count_of(beside(jobs, name)) end
        local _, since = first_keyed(jobs)
        figures[8] = since and string.format('%.0f', since) or ''
        figures[9], figures[10], figures[11] = key_figures(jobs)
      end
    end
  end

  -- What is no time is somebody else's too.
  local paused = redis.pcall('GET', keys[5])
  if type(paused) ~= 'string' or not string.find(paused, '^%d+$') or #paused > 16 then paused = '' end

  -- A worker of an earlier revision does not name the seventh key.
  if not jobs then return { now_text, 1, cancelled, ended, figures, paused } end
  local asks = beside(jobs, 'inspect:' .. args[1])
  local asked_by = redis.pcall('GET', asks)
  if type(asked_by) == 'string' then redis.pcall('DEL', asks) end
  if type(asked_by) ~= 'string' or not string.find(asked_by, '^[%w_-]+$') or #asked_by > 64 then asked_by = nil end

  local shards = shards_of(keys[7])

  -- The answer of a worker that beats: what follows the figures, up to the last that says something.
  local function answer(due, tick)
    if shards ~= '' then return { now_text, 1, cancelled, ended, figures, paused, due, tick, asked_by or '', shards } end
    if asked_by then return { now_text, 1, cancelled, ended, figures, paused, due, tick, asked_by } end
    return { now_text, 1, cancelled, ended, figures, paused, due, tick }
  end

  if (args[6] or '0') == '0' then return answer('', '') end
  local is_turn = has_turn(beside(jobs, 'turn'), args[6])
  if is_turn and free_orphans(jobs) > 0 then ring(beside(jobs, 'jobbell')) end
  local due = is_turn and next_due(jobs)
  local is_ticker = (args[7] or '0') ~= '0' and has_turn(beside(jobs, 'ticker'), args[7])
  local tick = (args[7] or '0') ~= '0' and first_of(beside(jobs, 'ticks'))
  -- One that is late may be in a time zone that whoever has the turn does not know: all others are told of it, in one second of four.
  local is_late = tick and tick < now - 2000 and math.floor(now / 1000) % 4 == 0
  if not is_ticker and not is_late then tick = nil end
  local function text_of(ms) return ms and string.format('%d', ms) or '' end
  return answer(text_of(due), text_of(tick))
end
