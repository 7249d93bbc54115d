-- declare: publishes cards of tasks for one queue, without taking a task from another queue.
--
-- Used by  worker, 11
-- KEYS[1]  HASH  pshub:tasks
-- ARGV[1]  queue
-- ARGV[2..]  triples: full name of a task; its card; a queue that was found to have no live worker for it and loses the first place, or empty
-- Returns  `{task, queue that has it first, ...}` for tasks that another queue has first
--
-- A task may be in several queues: the first one has the field of the task's name, each further one a field <task>@<queue>.
-- A full Redis refuses it: the registry is only for others to see.
-- Cards were written by others and may be anything. The queue is searched in the first 1024 characters, where every writer puts it; a
-- card without it there, or one that is too long to be read as a card, belongs to nobody.
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
