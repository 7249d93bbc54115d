#!/bin/sh
# Calls a task and prints the reply: ./caller.sh count_words:1.0 '{"text":"one two three"}'
task=$1 args=$2 ns=${PSHUB_NAMESPACE:-pshub}
redis() { "${REDIS_CLI:-redis-cli}" -u "${PSHUB_REDIS:-redis://127.0.0.1:6379}" "$@"; }

# Enough of JSON for the cards that workers write: they begin with the task and its queue.
queue=$(redis HGET "$ns:tasks" "$task" | sed -n 's/^{"task": *"[^"]*", *"queue": *"\([A-Za-z0-9_.-]*\)".*/\1/p')
[ -n "$queue" ] || { echo "no worker ever declared $task" >&2; exit 1; }
list="$ns:reply:{shell-$$-$(date +%s)}"

redis RPUSH "$ns:{$queue}:calls" "{\"id\":\"1\",\"task\":\"$task\",\"args\":$args,\"result_queue\":\"$list\"}" >/dev/null
redis RPUSH "$ns:{$queue}:bell" 1 >/dev/null
redis LTRIM "$ns:{$queue}:bell" 0 0 >/dev/null
reply=$(redis BLPOP "$list" 10 | tail -n +2)

[ -n "$reply" ] || { echo "$task did not answer within 10 s; it may have run" >&2; exit 1; }
printf '%s\n' "$reply"
