-- hold: put into the held hash what this worker took off the list by itself, so that all else that is done with held requests finds
-- it there.
--
-- KEYS[1]  LIST  pshub:{<queue>}:taken:<worker>
-- KEYS[2]  HASH  pshub:{<queue>}:held:<worker>
-- ARGV[1], ARGV[2], ...  pairs: the id under which it is held from now on, and the request
-- Returns  how many were moved
--
-- Only what is still in the list is moved: a second try finds nothing, and neither does one for what was released or adopted
-- meanwhile.
-- An error of this, which somebody else's key causes, comes before anything was moved.
redis.call('HLEN', KEYS[2])
local moved = 0
for i = 1, #ARGV, 2 do
  if redis.pcall('LREM', KEYS[1], 1, ARGV[i + 1]) == 1 then
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
    moved = moved + 1
  end
end
return moved
