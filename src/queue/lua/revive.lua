-- revive: jobs that lie by time are to be taken now. Dead ones get another chance, from their first try on; those that are not due yet, or
-- wait for their next try, wait no longer.
--
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1], ARGV[2], ARGV[3], ...  pairs: a job exactly as it lies; what it is to be from now on, without its `at`
-- Returns  how many of them were there and wait to be taken now
--
-- A dead one stays where it is while another one of its uniqueness waits or runs.
-- A full Redis refuses it: they are safe where they are.
for _, list in ipairs(lists_of(KEYS[1])) do redis.call('LLEN', list) end
redis.call('LLEN', KEYS[2])
local revived = 0

-- Somebody else's keys in these places cost the jobs there alone.
local function take(text, name)
  return redis.pcall('ZREM', beside(KEYS[1], name), text) == 1
end

-- A dead one that may come back, now that it holds its uniqueness again.
local function take_dead(lying, id, options)
  if type(redis.pcall('ZSCORE', beside(KEYS[1], 'dead'), lying)) ~= 'string' then return false end
  return not hold_unique(KEYS[1], id, options) and take(lying, 'dead')
end

for i = 1, #ARGV, 2 do
  local text = '{"at":' .. now_us_text() .. ',' .. ARGV[i + 1]
  local id, options = string.match(text, '"id":"([%w_-]+)"') or '', options_of(text)
  if take_dead(ARGV[i], id, options) then
    revived = revived + 1
    line_up_again(KEYS[1], text, options)
    local record = beside(KEYS[1], 'job:' .. id)
    -- It may have been dead for longer than its record lasts.
    if not redis.pcall('HGET', record, 'task') then begin_record(KEYS[1], id, text, options, 'waiting', now_ms(), now_ms()) end
    note_job(KEYS[1], id, options, 'state', 'waiting', 'tries', '0')
    if options.keep then
      redis.pcall('PERSIST', record)
      redis.pcall('HDEL', record, 'ended', 'error', 'cancel', 'expires')
    end
  else
    if take(ARGV[i], 'scheduled') or take(ARGV[i], 'retries') then
      revived = revived + 1
      arrive_late(KEYS[1], id, text)
      note_job(KEYS[1], id, options, 'due', string.format('%d', now_ms()))
      note_expiry(KEYS[1], id, options, now_ms(), text)
    end
  end
end
if revived > 0 then ring(KEYS[2]) end
return revived
