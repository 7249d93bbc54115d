import type { Operation } from '../../src/redis/library.ts'

/** A bug that somebody might write into what the library does with jobs: a change of its text. */
export interface JobsPlantedBug {
  bug: string
  operation: Operation | 'shared'
  from: string
  to: string
}

export const jobsPlantedBugs: JobsPlantedBug[] = [
  { operation: 'enqueue', bug: 'does a repeated batch again', from: 'if number and', to: 'if false and' },
  { operation: 'enqueue', bug: 'forgets who was there already', from: 'unpack(twins)', to: 'nil' },
  {
    operation: 'shared',
    bug: 'lets twins in',
    from: 'and there ~= id then',
    to: 'and false then',
  },
  {
    operation: 'shared',
    bug: 'keeps a lock for ever',
    from: "if redis.pcall('GET', lock) == id then",
    to: 'if false then',
  },
  {
    operation: 'shared',
    bug: "takes another one's lock away",
    from: "if redis.pcall('GET', lock) == id then",
    to: 'if true then',
  },
  { operation: 'shared', bug: 'has no priorities', from: `'"priority":"high"'`, to: `'"priority":"none"'` },
  { operation: 'due', bug: 'takes one too many away', from: 'taken - 1', to: 'taken' },
  { operation: 'due', bug: 'leaves what it moved', from: "redis.call('ZREMRANGEBYRANK', set, 0, taken - 1)", to: '' },
  {
    operation: 'claim',
    bug: 'runs what was cancelled',
    from: 'if is_cancelled(KEYS[5], id, options) then',
    to: 'if false then',
  },
  { operation: 'claim', bug: 'tells no batch of what was cancelled', from: 'tally_of(', to: 'type(' },
  { operation: 'settle', bug: 'settles what it does not hold', from: "redis.call('HDEL', KEYS[1], ARGV[i])", to: '' },
  { operation: 'settle', bug: 'loses the next step', from: 'follow(following)\n    return', to: 'return' },
  { operation: 'settle', bug: 'puts a step of another queue into its own', from: 'if queue then', to: 'if false then' },
  {
    operation: 'settle',
    bug: 'tries a cancelled job again',
    from: "if outcome == 'retry' and is_cancelled",
    to: 'if false and is_cancelled',
  },
  {
    operation: 'settle',
    bug: 'forgets the dead',
    from: 'dropped = dropped + bury(KEYS[2], failed, now, ARGV[1], ARGV[2])',
    to: '',
  },
  {
    operation: 'settle',
    bug: 'counts no failures',
    from: 'local failed = with_failure(message, id, text, now)',
    to: 'local failed = message',
  },
  {
    operation: 'adopt',
    bug: 'drops what is to be done elsewhere',
    from: "redis.call('HSET', KEYS[3], found[i], message)",
    to: '',
  },
  { operation: 'adopt', bug: 'tells no batch of the dead', from: 'tally_of(', to: 'type(' },
  { operation: 'forward', bug: 'lets a job come twice', from: "'NX', 'PX', ARGV[1])", to: "'PX', ARGV[1])" },
  {
    operation: 'shared',
    bug: 'counts a job twice in its batch',
    from: "or redis.pcall('SADD', ended, id) ~= 1 then",
    to: "or not redis.pcall('SADD', ended, id) then",
  },
  {
    operation: 'shared',
    bug: 'ends a batch twice',
    from: "redis.call('HSETNX', record, 'ended', now_ms()) == 0",
    to: "not redis.call('HSETNX', record, 'ended', now_ms())",
  },
  { operation: 'shared', bug: 'ends a batch before it is closed', from: 'if not total or done', to: 'if done' },
  { operation: 'revive', bug: 'revives what is not there', from: '== 1 then', to: '>= 0 then' },
  {
    operation: 'withdraw',
    bug: 'lets the record of a job that waits go',
    from: "redis.call('PERSIST', record)",
    to: "redis.call('PEXPIRE', record, 1)",
  },
]
