-- push: appends calls of one hub to a queue's list.
--
-- Used by  caller, 9.1
-- KEYS[1]  LIST    pshub:{<queue>}:calls
-- KEYS[2]  LIST    pshub:{<queue>}:bell
-- KEYS[3]  STRING  pshub:{<queue>}:pushed:<hub>
-- ARGV[1]  number of this push, in decimal digits; a hub counts its pushes per queue and has one in flight at a time
-- ARGV[2]  ms for which the number is remembered, so that a repeated push is a no-op
-- ARGV[3]  longest length that the list may reach; the rest of the batch is refused
-- ARGV[4]  Redis' time when the ttls were computed, as the hub estimates it, us; `0` if unknown
-- ARGV[5..]  requests without their `at`: `"ttl":<ms>,"id":"<id>",...}`
-- Returns  `{accepted, length of the list before, at}`, where `at` is us as text; then, unless both are 0, `1` if this push was done before, and the ms taken off each ttl
--
-- Whatever can be refused (wrong type, full memory, more than 1000 requests) is refused before the first element is pushed: an error
-- answer means that nothing was enqueued.
-- A push that was delayed on its way, by a pause of the process or the network, must not outlive its callers' deadlines.
local count = #ARGV - 4
if count > 1000 then return redis.error_reply('ERR at most 1000 requests in one push') end
local at = now_us_text()
local length = redis.call('LLEN', KEYS[1])
local accepted = math.max(0, math.min(count, tonumber(ARGV[3]) - length))
local silent = redis.call('LLEN', KEYS[2]) == 0

local before = redis.call('SET', KEYS[3], ARGV[1] .. ':' .. accepted .. ':' .. at, 'PX', ARGV[2], 'GET')
if before then
  local number, done, done_at = string.match(before, '^(%d+):(%d+):(%d+)$')
  if number and tonumber(number) >= tonumber(ARGV[1]) then
    -- A lower number is the late copy of a push that was given up: a cut connection may still deliver what it was sent.
    redis.call('SET', KEYS[3], before, 'PX', ARGV[2])
    return { number == ARGV[1] and tonumber(done) or 0, length, done_at, 1, 0 }
  end
end

-- A push that was long on its way, because a process or the network had a pause, must not outlive its callers' deadlines.
local late = 0
if ARGV[4] ~= '0' then late = math.floor((at - ARGV[4]) / 1000) end
-- Hubs allow for less than this.
if late < 2 then late = 0 end
local function in_time(message)
  local ttl, behind = string.match(message, '^"ttl":(%d+)()')
  if not ttl or ttl == '0' then return message end
  return string.format('"ttl":%d', math.max(1, tonumber(ttl) - late)) .. string.sub(message, behind)
end

if accepted > 0 then
  -- `at` is spliced in as text: decoding and encoding a payload here would turn [] into {} and round big integers.
  local prefix = '{"at":' .. at .. ','
  local messages = {}
  for i = 1, accepted do messages[i] = prefix .. (late == 0 and ARGV[i + 4] or in_time(ARGV[i + 4])) end
  redis.call('RPUSH', KEYS[1], unpack(messages))
  if silent then redis.call('RPUSH', KEYS[2], '1') end
end
if late == 0 then return { accepted, length, at } end
return { accepted, length, at, 0, late }
