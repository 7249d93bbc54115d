-- cancel: the caller gave up. Remove its request if it still waits, else leave word for the worker that runs it.
--
-- KEYS[1]  LIST  pshub:{<queue>}:calls
-- KEYS[2]  ZSET  pshub:{<queue>}:cancelled
-- ARGV[1]  request id
-- ARGV[2]  the request exactly as it lies in the list, or empty when that is not known
-- ARGV[3]  ms for which the word is kept
-- flags:   allow-oom
-- Returns  1 if the request was removed from the list: it certainly never runs; else 0
--
-- Looked for among the first and the last thousand requests only: all of Redis waits while a list of millions is searched, for
-- what its deadline ends anyway. Workers read the words with each beat.
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
