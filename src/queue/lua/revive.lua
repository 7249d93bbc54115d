-- revive: makes jobs of `dead`, `scheduled` or `retries` claimable now. Dead ones begin with their first try again.
--
-- Used by  caller, 9.9
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1..]  pairs: a job exactly as it is in the set; the message that replaces it, without its `at`
-- Returns  how many of them were found and can be claimed now
--
-- A dead job stays where it is while another job holds its `unique` text.
-- A full Redis refuses it: the jobs are safe where they are.
-- Foreign keys in these places cost the jobs there alone.
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
