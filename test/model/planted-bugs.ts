import type { Operation } from '../../src/redis/library.ts'

/** A bug that somebody might write into a function of the library: a change of its text. */
export interface PlantedBug {
  bug: string
  operation: Operation
  from: string
  to: string
}

const ringsBell = "redis.call('RPUSH', KEYS[2], '1')"
const runsOnFull = "flags = { 'allow-oom' }, "

export const plantedBugs: PlantedBug[] = [
  { operation: 'push', bug: 'does a repeated push again', from: 'if before then', to: 'if false then' },
  {
    operation: 'push',
    bug: 'does the late copy of an older push',
    from: 'tonumber(number) >= tonumber(ARGV[1])',
    to: 'number == ARGV[1]',
  },
  {
    operation: 'push',
    bug: 'decodes and encodes the payload',
    from: 'late == 0 and ARGV[i + 4]',
    to: "late == 0 and string.sub(cjson.encode(cjson.decode('{' .. ARGV[i + 4])), 2)",
  },
  { operation: 'push', bug: 'forgets how long it was on its way', from: 'if late < 2 then', to: 'if true then' },
  { operation: 'push', bug: 'gives a deadline to what has none', from: "or ttl == '0'", to: '' },
  { operation: 'push', bug: 'rings no bell', from: `if silent then ${ringsBell} end`, to: '' },
  { operation: 'push', bug: 'rings each time', from: 'if silent then', to: 'if true then' },
  { operation: 'push', bug: 'forgets the limit', from: 'tonumber(ARGV[3]) - length', to: 'tonumber(ARGV[3])' },
  {
    operation: 'push',
    bug: 'goes through when Redis is full',
    from: "'pshub_1_push', callback",
    to: "'pshub_1_push', flags = { 'allow-oom' }, callback",
  },
  {
    operation: 'claim',
    bug: 'does not record what it pops',
    from: "redis.pcall('HSET', KEYS[3], unpack(held))",
    to: '1',
  },
  { operation: 'claim', bug: 'asks for no lease', from: 'if not lease or', to: 'if lease and false and' },
  { operation: 'claim', bug: 'hands out what has expired', from: 'if at and ttl', to: 'if false and ttl' },
  { operation: 'claim', bug: 'takes more bytes than it may', from: 'if bytes_left <= 0 then', to: 'if false then' },
  {
    operation: 'claim',
    bug: 'loses what is too much',
    from: "for k = #batch, i, -1 do redis.call('LPUSH', list, batch[k]) end",
    to: '',
  },
  {
    operation: 'claim',
    bug: 'turns round the order of what is too much',
    from: 'for k = #batch, i, -1 do',
    to: 'for k = i, #batch do',
  },
  { operation: 'claim', bug: 'rings no bell for what is left', from: 'ring(KEYS[2])', to: '' },
  {
    operation: 'claim',
    bug: 'loses what it popped when it cannot hold it',
    from: "for i = calls, 1, -1 do redis.call('LPUSH', KEYS[1], requests[i]) end",
    to: '',
  },
  {
    operation: 'claim',
    bug: 'makes up the same id twice',
    from: "id = 'hand-' .. now_text .. '-' .. taken",
    to: "id = 'hand'",
  },
  {
    operation: 'handback',
    bug: 'puts back what is not held any more',
    from: 'if message then',
    to: "if message or ARGV[i + 1] ~= '' then",
  },
  {
    operation: 'handback',
    bug: 'turns the order round',
    from: 'if head then from, to, step = #ARGV - 1, 2, -2 end',
    to: '',
  },
  {
    operation: 'claim',
    bug: 'gives jobs more slots than it may',
    from: 'math.min(tonumber(ARGV[3]), wanted - taken)',
    to: 'wanted - taken',
  },
  { operation: 'claim', bug: 'holds a job as a call', from: "room, 'job:')", to: "room, '')" },
  {
    operation: 'claim',
    bug: 'keeps quiet about the calls that are left',
    from: 'if left == 0 and dropped',
    to: 'if dropped',
  },
  { operation: 'claim', bug: 'keeps quiet about the jobs that are left', from: 'and jobs_left == 0 and', to: 'and' },
  { operation: 'claim', bug: 'takes jobs for calls', from: 'and calls == taken and', to: 'and' },
  { operation: 'claim', bug: 'forgets jobs that found no slot', from: 'jobs_left = -1', to: 'jobs_left = 0' },
  {
    operation: 'claim',
    bug: 'loses jobs that it cannot hold',
    from: "for i = taken, calls + 1, -1 do redis.call('LPUSH', KEYS[5], requests[i]) end",
    to: '',
  },
  { operation: 'handback', bug: 'takes a job for a call', from: 'is_job(ARGV[i])', to: 'false' },
  {
    operation: 'handback',
    bug: 'takes an adopted job for a call',
    from: 'is_job(ARGV[i])',
    to: "string.find(ARGV[i], '^job:')",
  },
  { operation: 'handback', bug: 'rings no bell for jobs', from: 'if jobs > 0 then', to: 'if false then' },
  { operation: 'leave', bug: 'takes a job for a call', from: 'is_job(held[i])', to: 'false' },
  { operation: 'leave', bug: 'keeps a bell without jobs', from: "redis.call('DEL', KEYS[6])", to: '' },
  { operation: 'handback', bug: 'loses what the list cannot take', from: "redis.call('LLEN', KEYS[2])", to: '' },
  { operation: 'handback', bug: 'goes on holding', from: "redis.call('HDEL', KEYS[1], ARGV[i])", to: '' },
  { operation: 'handback', bug: 'rings no bell', from: 'if calls > 0 then', to: 'if false then' },
  { operation: 'leave', bug: 'puts back what was started', from: 'for i = 2, #ARGV do', to: 'for i = 2, 1 do' },
  { operation: 'leave', bug: 'holds without a lease', from: 'if kept > 0 then', to: 'if false then' },
  {
    operation: 'leave',
    bug: 'puts back what it had adopted',
    from: 'if is_lost(held[i]) then',
    to: 'if false then',
  },
  { operation: 'leave', bug: 'leaves a token behind', from: "redis.call('DEL', KEYS[3])", to: '' },
  { operation: 'adopt', bug: 'loses what it cannot hold', from: "redis.call('HLEN', KEYS[3])", to: '' },
  { operation: 'adopt', bug: 'moves more bytes than it may', from: 'if bytes_left <= 0', to: 'if false' },
  { operation: 'adopt', bug: 'copies instead of moving', from: "redis.call('HDEL', KEYS[2], found[i])", to: '' },
  { operation: 'adopt', bug: 'takes from the living', from: 'if theirs and', to: 'if false and' },
  { operation: 'adopt', bug: 'gives to one without a lease', from: 'if not mine or', to: 'if mine and false and' },
  {
    operation: 'adopt',
    bug: 'lets the lost worker go on after a part',
    from: "redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])",
    to: '',
  },
  {
    operation: 'adopt',
    bug: 'forgets that it may have been started',
    from: "if not is_lost(field) then field = 'lost:' .. field end",
    to: '',
  },
  {
    operation: 'adopt',
    bug: 'loses what it did not move',
    from: 'local answer = { 1 }',
    to: "local answer = { 1 } redis.call('DEL', KEYS[2])",
  },
  { operation: 'beat', bug: 'renews what was adopted from', from: "if ARGV[3] == '0' then", to: 'if false then' },
  {
    operation: 'beat',
    bug: 'keeps old words',
    from: "redis.pcall('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[4]))",
    to: '',
  },
  {
    operation: 'beat',
    bug: 'keeps a pause to itself',
    from: "#paused > 16 then paused = ''",
    to: "true then paused = ''",
  },
  {
    operation: 'beat',
    bug: "loses the lease to somebody else's key",
    from: "redis.pcall('GET', KEYS[5])",
    to: "redis.call('GET', KEYS[5])",
  },
  { operation: 'beat', bug: 'takes any text for a pause', from: "not string.find(paused, '^%d+$') or", to: '' },
  { operation: 'beat', bug: 'lets everybody report', from: 'if reporter == false or', to: 'if true or' },
  { operation: 'beat', bug: 'lets nobody take over the report', from: 'reporter == false or', to: '' },
  { operation: 'beat', bug: 'reports the newest request', from: 'KEYS[4], 0)', to: 'KEYS[4], -1)' },
  { operation: 'beat', bug: 'reports for ever', from: "ARGV[1], 'PX', ARGV[5])", to: 'ARGV[1])' },
  {
    operation: 'leave',
    bug: 'goes on as the one that reports',
    from: "if redis.pcall('GET', KEYS[7]) == ARGV[1] then",
    to: 'if false then',
  },
  {
    operation: 'leave',
    bug: 'takes the report from another',
    from: "if redis.pcall('GET', KEYS[7]) == ARGV[1] then",
    to: 'if true then',
  },
  { operation: 'reply', bug: 'makes a list that stays', from: "redis.call('PEXPIRE', KEYS[1], ARGV[1])", to: '' },
  {
    operation: 'cancel',
    bug: 'does not say that it removed',
    from: "return redis.call('LREM', KEYS[1], from, ARGV[2])",
    to: "redis.call('LREM', KEYS[1], from, ARGV[2]) return 0",
  },
  { operation: 'cancel', bug: 'removes nothing', from: "if ARGV[2] ~= '' then", to: 'if false then' },
  ...(['claim', 'leave', 'beat', 'reply', 'cancel'] as const).map(operation => ({
    operation,
    bug: 'is refused by a full Redis',
    from: runsOnFull,
    to: '',
  })),
]
