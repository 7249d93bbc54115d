-- declare: publish the cards of tasks for one queue. A task may be in several queues; the one that has it first is in the
-- field of the task's name, each further one in a field of its own, <task>@<queue>.
--
-- KEYS[1]  HASH  pshub:tasks
-- ARGV[1]  queue
-- ARGV[2], ARGV[3], ARGV[4], ...  triples: full name of a task; its card; a queue that was found to have no live worker for
--          it and is not first any more then, or empty
-- Returns  { full name, queue that has it first, ... } of those that another queue has first
--
-- A full Redis refuses it: the registry is only for others to see.
-- Cards were written by others and may be anything. The queue is looked for at the beginning, where all who write cards have
-- it; a card that does not tell it there is nobody's, as is one that is too long to be read as a card.
local elsewhere = {}
for i = 2, #ARGV, 3 do
  local task, card, dead = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local present = redis.call('HGET', KEYS[1], task)
  local first = present and #present <= 262144 and string.match(string.sub(present, 1, 1024), '"queue"%s*:%s*"([%w_.-]+)"')
  local further = task .. '@' .. ARGV[1]
  if not first or first == ARGV[1] or first == dead then
    redis.call('HSET', KEYS[1], task, card)
    redis.call('HDEL', KEYS[1], further)
  else
    redis.call('HSET', KEYS[1], further, card)
    elsewhere[#elsewhere + 1] = task
    elsewhere[#elsewhere + 1] = first
  end
end
return elsewhere
