-- cancel: removes a request that still waits, or leaves a note for the worker that runs it.
--
-- Used by  caller, 9.8
-- KEYS[1]  LIST  pshub:{<queue>}:calls
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- ARGV[1]  request id
-- ARGV[2]  the request exactly as it is in the list, or empty if unknown
-- ARGV[3]  ms for which the note is kept
-- flags:   allow-oom
-- Returns  `1` if the request was removed: it certainly never runs; else `0`
--
-- Only the first and the last thousand requests are searched: a search of millions would block Redis for something that the deadline ends
-- anyway. Workers read the notes with each beat.
local reach = 1000

if ARGV[2] ~= '' then
  for _, from in ipairs({ 1, -1 }) do
    if redis.call('LPOS', KEYS[1], ARGV[2], 'RANK', from, 'MAXLEN', reach) then
      local gone = redis.call('LREM', KEYS[1], from, ARGV[2])
      -- Nobody may be there to take the token.
      if redis.call('LLEN', KEYS[1]) == 0 then redis.pcall('UNLINK', string.sub(KEYS[1], 1, -6) .. 'bell') end
      return gone
    end
  end
end
redis.call('ZADD', KEYS[2], now_ms(), ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0
