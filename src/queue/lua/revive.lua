-- revive: dead jobs get another chance, from their first try on.
--
-- KEYS[1]  LIST  pshub:{<queue>}:jobs
-- KEYS[2]  LIST  pshub:{<queue>}:jobbell
-- ARGV[1], ARGV[2], ARGV[3], ...  pairs: a job exactly as it lies with the dead ones; what it is to be from now on, without its `at`
-- Returns  how many of them were there and wait again now
--
-- A full Redis refuses it: they are safe where they are.
for _, list in ipairs(lists_of(KEYS[1])) do redis.call('LLEN', list) end
redis.call('LLEN', KEYS[2])
local revived = 0
for i = 1, #ARGV, 2 do
  if redis.call('ZREM', beside(KEYS[1], 'dead'), ARGV[i]) == 1 then
    local text = '{"at":' .. now_us_text() .. ',' .. ARGV[i + 1]
    local id, options = string.match(text, '"id":"([%w_-]+)"'), options_of(text)
    line_up_again(KEYS[1], text, options)
    local record = beside(KEYS[1], 'job:' .. id)
    note_job(KEYS[1], id, options, 'state', 'waiting', 'tries', '0')
    if options.keep then
      redis.pcall('PERSIST', record)
      redis.pcall('HDEL', record, 'ended', 'error', 'cancel')
    end
    revived = revived + 1
  end
end
if revived > 0 then ring(KEYS[2]) end
return revived
