"""Calls a task and prints its result: python3 caller.py greet:1.0 '{"name": "you"}'"""
import json, os, secrets, sys
from resp import connect

redis, namespace = connect(), os.environ.get('PSHUB_NAMESPACE', 'pshub')
task, args = sys.argv[1], json.loads(sys.argv[2])

card = redis('HGET', f'{namespace}:tasks', task)
if card is None:
    sys.exit(f'no worker ever declared {task}')
queue = f"{namespace}:{{{json.loads(card)['queue']}}}"
my_list = f'{namespace}:reply:{{{secrets.token_urlsafe(16)}}}'
request = {'id': secrets.token_urlsafe(16), 'task': task, 'args': args, 'result_queue': my_list}

redis('RPUSH', f'{queue}:calls', json.dumps(request))
redis('RPUSH', f'{queue}:bell', 1)
redis('LTRIM', f'{queue}:bell', 0, 0)
popped = redis('BLPOP', my_list, 10)

if popped is None:
    sys.exit(f'{task} did not answer within 10 s; it may have run')
reply = json.loads(popped[1])
if not reply['ok']:
    sys.exit(f"{reply['error']['code']}: {reply['error']['message']}")
print(json.dumps(reply['result'], ensure_ascii=False))
