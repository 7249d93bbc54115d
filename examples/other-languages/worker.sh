#!/bin/sh
# A plain worker: serves count_words:1.0 with redis-cli. PROTOCOL.md, "The plain worker", says what that gives up.
ns=${PSHUB_NAMESPACE:-pshub} queue=shell task=count_words:1.0 me=shell-$$-$(date +%s)
redis() { "${REDIS_CLI:-redis-cli}" -u "${PSHUB_REDIS:-redis://127.0.0.1:6379}" "$@"; }
# Enough of JSON for what callers write: the id comes before the arguments, the reply's list behind them.
field() { printf %s "$1" | sed -n "s/$2/\\1/p"; }
string='\(\([^"\\]\|\\.\)*\)'

register() { # each time round, so that the lease goes on and an emptied Redis fills again; the lease comes last
  now=$(redis TIME | head -n 1)
  redis >/dev/null <<END
HSET $ns:tasks $task '{"task":"$task","queue":"$queue","description":"Counts words.","args":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"digest":"words-1","at":$now}'
HSET $ns:workers $me '{"id":"$me","queue":"$queue","host":"$(hostname)","pid":$$,"slots":1,"tasks":{"$task":"words-1"},"client":"plain-sh"}'
HSET $ns:stats $me '{"seen":${now}000,"busy":0}'
ZADD $ns:{$queue}:leases $((now + 10))000 $me
END
}

serve() {
  id=$(field "$1" '^[^i]*"id": *"\([A-Za-z0-9_-]*\)".*')
  list=$(field "$1" '.*"result_queue": *"\([^"]*\)".*')
  text=$(field "$1" ".*\"args\": *{ *\"text\": *\"$string\" *}.*")
  count=$(($(printf %s "$text" | sed 's/\\[nrtbf]/ /g' | wc -w)))
  # Only the hub's id is taken from the message: nobody may make a worker write to other keys.
  hub=$(printf %s "$list" | sed -n 's/.*:reply:{\([A-Za-z0-9_-]\{1,64\}\)}$/\1/p')
  [ -n "$hub" ] || return
  redis RPUSH "$ns:reply:{$hub}" "{\"id\":\"$id\",\"ok\":true,\"result\":$count}" >/dev/null
  redis PEXPIRE "$ns:reply:{$hub}" 60000 >/dev/null
}

trap 'stopping=yes' TERM
register
echo ready
while [ -z "$stopping" ]; do
  message=$(redis BLPOP "$ns:{$queue}:calls" 1 | tail -n +2)
  [ -z "$message" ] || serve "$message"
  register
done
redis ZREM "$ns:{$queue}:leases" "$me" >/dev/null
redis DEL "$ns:{$queue}:bell" >/dev/null
redis HDEL "$ns:workers" "$me" >/dev/null
redis HDEL "$ns:stats" "$me" >/dev/null
