-- claim: take calls for idle slots, popping and recording them as held in one step. The only way to take work.
--
-- KEYS[1]  LIST  pshub:{<queue>}:calls
-- KEYS[2]  LIST  pshub:{<queue>}:bell
-- KEYS[3]  HASH  pshub:{<queue>}:held:<worker>
-- KEYS[4]  ZSET  pshub:{<queue>}:leases
-- ARGV[1]  worker id
-- ARGV[2]  idle slots: the most that is taken, 1000 at most
-- ARGV[3..] pairs, longest first: a task and the us it runs at least; missing for those that run short
-- Returns  { now (us, as text), left in the list, dropped, requests, { index, made-up id, ... }, hopeless requests }
--          or { now, -1 } when the worker holds no lease: then nothing was taken.
--
-- Dropped are requests whose deadline has passed: nobody waits for them any more. Hopeless ones are dropped too, but have some
-- time left, less than their task runs: the worker answers them Expired. Neither is held, and neither ever starts.
-- A request without the three leading fields was pushed by hand; it is held under a made-up id, named in the last list.
-- The first write is a pop, which a full Redis allows; after it the growing ones are allowed too (Redis checks memory
-- once per script, before the first write).
local max_drops = 1000

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = time[1] .. string.sub('00000' .. time[2], -6)

-- Without a lease nobody would ever look for what this worker holds.
local lease = redis.call('ZSCORE', KEYS[4], ARGV[1])
if not lease or tonumber(lease) * 1000 < now then return { now_text, -1 } end

local wanted = math.min(1000, tonumber(ARGV[2]))
local requests, held, named, hopeless = {}, {}, {}, {}
local longest = tonumber(ARGV[4] or 0)
local function runs_for(message)
  local task = string.match(message, '^{"at":%d+,"ttl":%d+,"id":"[%w_-]+","task":"([^"]+)"')
  for i = 3, #ARGV, 2 do
    if ARGV[i] == task then return tonumber(ARGV[i + 1]) end
  end
  return 0
end

local taken, dropped, left = 0, 0, -1
repeat
  local batch = redis.call('LPOP', KEYS[1], wanted - taken)
  if not batch then left = 0 break end
  if #batch < wanted - taken then left = 0 end
  for i = 1, #batch do
    local at, ttl, id = string.match(batch[i], '^{"at":(%d+),"ttl":(%d+),"id":"([%w_-]+)"')
    local spare = math.huge
    if at and ttl ~= '0' then spare = tonumber(at) + tonumber(ttl) * 1000 - now end
    if spare <= 0 then
      dropped = dropped + 1
    elseif spare < longest and spare < runs_for(batch[i]) then
      hopeless[#hopeless + 1] = batch[i]
    else
      taken = taken + 1
      if not id then
        id = 'hand-' .. now_text .. '-' .. taken
        named[#named + 1] = taken
        named[#named + 1] = id
      end
      requests[taken] = batch[i]
      held[taken * 2 - 1] = id
      held[taken * 2] = batch[i]
    end
  end
until taken == wanted or left == 0 or dropped + #hopeless >= max_drops

if taken > 0 then
  -- Somebody else's key under that name, or a right that was taken away, must not cost what is popped already.
  local done = redis.pcall('HSET', KEYS[3], unpack(held))
  if type(done) == 'table' and done.err then
    for i = taken, 1, -1 do redis.call('LPUSH', KEYS[1], requests[i]) end
    return done
  end
end
if left ~= 0 then
  left = redis.call('LLEN', KEYS[1])
  if left > 0 and redis.call('LLEN', KEYS[2]) == 0 then redis.call('RPUSH', KEYS[2], '1') end
end
return { now_text, left, dropped, requests, named, hopeless }
