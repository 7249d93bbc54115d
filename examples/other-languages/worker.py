"""A plain worker: serves greet:1.0 with BLPOP and RPUSH. PROTOCOL.md, "The plain worker", says what that gives up."""
import json, os, re, secrets, signal, socket
from resp import connect

redis, namespace = connect(), os.environ.get('PSHUB_NAMESPACE', 'pshub')
queue, task, me = 'python', 'greet:1.0', secrets.token_urlsafe(16)
schema = {'type': 'object', 'properties': {'name': {'type': 'string'}}, 'required': ['name']}


def greet(args):
    return f"Hello, {args['name']}!"


handlers = {task: greet}


def register():
    """Each time round, so that the lease goes on and an emptied Redis fills again. The lease comes last."""
    now = int(redis('TIME')[0])
    card = {'task': task, 'queue': queue, 'description': 'Greets.', 'args': schema, 'digest': 'greet-1', 'at': now}
    worker = {'id': me, 'queue': queue, 'host': socket.gethostname(), 'pid': os.getpid(), 'slots': 1,
              'tasks': {task: 'greet-1'}, 'client': 'plain-python'}
    redis('HSET', f'{namespace}:tasks', task, json.dumps(card))
    redis('HSET', f'{namespace}:workers', me, json.dumps(worker))
    redis('HSET', f'{namespace}:stats', me, json.dumps({'seen': now * 1000, 'busy': 0}))
    redis('ZADD', f'{namespace}:{{{queue}}}:leases', (now + 10) * 1000, me)


def serve(message):
    request = json.loads(message)
    try:
        outcome = {'ok': True, 'result': handlers[request['task']](request['args'])}
    except Exception as error:
        outcome = {'ok': False, 'error': {'code': 'TaskFailed', 'message': repr(error)}}
    # Only the hub's id is taken from the message: nobody may make a worker write to other keys.
    hub = re.search(r':reply:\{([A-Za-z0-9_-]{1,64})\}\Z', request['result_queue'])[1]
    redis('RPUSH', f'{namespace}:reply:{{{hub}}}', json.dumps({'id': request['id'], **outcome}))
    redis('PEXPIRE', f'{namespace}:reply:{{{hub}}}', 60000)


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
register()
print('ready', flush=True)
while not stopping:
    popped = redis('BLPOP', f'{namespace}:{{{queue}}}:calls', 1)
    try:
        if popped:
            serve(popped[1])
    except (ValueError, KeyError, TypeError) as error:
        print('dropped what is not a request:', repr(error))
    register()
redis('ZREM', f'{namespace}:{{{queue}}}:leases', me)
redis('DEL', f'{namespace}:{{{queue}}}:bell')
redis('HDEL', f'{namespace}:workers', me)
redis('HDEL', f'{namespace}:stats', me)
