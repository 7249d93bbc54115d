import type { scripts } from '../../src/scripts.ts'

/** A bug that somebody might write into a script: a change of its text. */
export interface PlantedBug {
  bug: string
  script: keyof typeof scripts
  from: string
  to: string
}

const ringsBell = "redis.call('RPUSH', KEYS[2], '1')"

export const plantedBugs: PlantedBug[] = [
  { script: 'push', bug: 'does a repeated push again', from: 'if before then', to: 'if false then' },
  {
    script: 'push',
    bug: 'does the late copy of an older push',
    from: 'tonumber(number) >= tonumber(ARGV[1])',
    to: 'number == ARGV[1]',
  },
  {
    script: 'push',
    bug: 'decodes and encodes the payload',
    from: 'late == 0 and ARGV[i + 4]',
    to: "late == 0 and string.sub(cjson.encode(cjson.decode('{' .. ARGV[i + 4])), 2)",
  },
  { script: 'push', bug: 'forgets how long it was on its way', from: 'if late < 2 then', to: 'if true then' },
  { script: 'push', bug: 'gives a deadline to what has none', from: "or ttl == '0'", to: '' },
  { script: 'push', bug: 'rings no bell', from: `if silent then ${ringsBell} end`, to: '' },
  { script: 'push', bug: 'rings each time', from: 'if silent then', to: 'if true then' },
  { script: 'push', bug: 'forgets the limit', from: 'tonumber(ARGV[3]) - length', to: 'tonumber(ARGV[3])' },
  {
    script: 'push',
    bug: 'goes through when Redis is full',
    from: 'local before =',
    to: "redis.call('LREM', KEYS[1], 0, 'x') local before =",
  },
  {
    script: 'claim',
    bug: 'does not record what it pops',
    from: "redis.pcall('HSET', KEYS[3], unpack(held))",
    to: '1',
  },
  { script: 'claim', bug: 'asks for no lease', from: 'if not lease or', to: 'if lease and false and' },
  { script: 'claim', bug: 'hands out what has expired', from: 'if at and ttl', to: 'if false and ttl' },
  {
    script: 'claim',
    bug: 'hands out what cannot end in time',
    from: 'elseif spare < longest and',
    to: 'elseif false and',
  },
  { script: 'claim', bug: 'drops what nothing is known of', from: 'return 0', to: 'return longest' },
  {
    script: 'claim',
    bug: 'is refused by a full Redis',
    from: 'local wanted =',
    to: "redis.call('ZADD', KEYS[4], 'XX', lease, ARGV[1]) local wanted =",
  },
  { script: 'claim', bug: 'rings no bell for what is left', from: ringsBell, to: 'local _ = 0' },
  {
    script: 'claim',
    bug: 'loses what it popped when it cannot hold it',
    from: "for i = calls, 1, -1 do redis.call('LPUSH', KEYS[1], requests[i]) end",
    to: '',
  },
  {
    script: 'claim',
    bug: 'makes up the same id twice',
    from: "id = 'hand-' .. now_text .. '-' .. taken",
    to: "id = 'hand'",
  },
  {
    script: 'handback',
    bug: 'puts back what is not held any more',
    from: 'if message then',
    to: "if message or ARGV[i + 1] ~= '' then",
  },
  {
    script: 'handback',
    bug: 'turns the order round',
    from: 'if head then from, to, step = #ARGV - 1, 2, -2 end',
    to: '',
  },
  {
    script: 'claim',
    bug: 'gives jobs more slots than it may',
    from: 'room = math.min(room, wanted - taken)',
    to: 'room = wanted - taken',
  },
  { script: 'claim', bug: 'holds a job as a call', from: "room, 'job:')", to: "room, '')" },
  { script: 'claim', bug: 'forgets jobs that found no slot', from: 'jobs_left = -1', to: 'jobs_left = 0' },
  {
    script: 'claim',
    bug: 'loses jobs that it cannot hold',
    from: "for i = taken, calls + 1, -1 do redis.call('LPUSH', KEYS[5], requests[i]) end",
    to: '',
  },
  { script: 'handback', bug: 'takes a job for a call', from: "string.find(ARGV[i], '^job:') or", to: '' },
  { script: 'handback', bug: 'takes an adopted job for a call', from: "or string.find(ARGV[i], '^lost:job:')", to: '' },
  { script: 'handback', bug: 'rings no bell for jobs', from: 'if jobs > 0 and', to: 'if false and' },
  { script: 'leave', bug: 'takes a job for a call', from: "string.sub(held[i], 1, 4) == 'job:'", to: 'false' },
  { script: 'leave', bug: 'keeps a bell without jobs', from: "redis.call('DEL', KEYS[6])", to: '' },
  { script: 'handback', bug: 'loses what the list cannot take', from: "redis.call('LLEN', KEYS[2])", to: '' },
  { script: 'handback', bug: 'goes on holding', from: "redis.call('HDEL', KEYS[1], ARGV[i])", to: '' },
  { script: 'handback', bug: 'rings no bell', from: 'if calls > 0 and', to: 'if false and' },
  { script: 'leave', bug: 'puts back what was started', from: 'for i = 2, #ARGV do', to: 'for i = 2, 1 do' },
  { script: 'leave', bug: 'holds without a lease', from: 'if kept > 0 then', to: 'if false then' },
  {
    script: 'leave',
    bug: 'puts back what it had adopted',
    from: "if string.sub(held[i], 1, 5) == 'lost:' then",
    to: 'if false then',
  },
  { script: 'leave', bug: 'leaves a token behind', from: "redis.call('DEL', KEYS[3])", to: '' },
  {
    script: 'leave',
    bug: 'is refused by a full Redis',
    from: "redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', '-inf')",
    to: "redis.call('ZADD', KEYS[4], 'XX', 0, ARGV[1])",
  },
  { script: 'adopt', bug: 'loses what it cannot hold', from: "redis.call('HLEN', KEYS[3])", to: '' },
  { script: 'adopt', bug: 'copies instead of moving', from: "redis.call('HDEL', KEYS[2], found[i])", to: '' },
  { script: 'adopt', bug: 'takes from the living', from: 'if theirs and', to: 'if false and' },
  { script: 'adopt', bug: 'gives to one without a lease', from: 'if not mine or', to: 'if mine and false and' },
  {
    script: 'adopt',
    bug: 'lets the lost worker go on after a part',
    from: "redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])",
    to: '',
  },
  {
    script: 'adopt',
    bug: 'forgets that it may have been started',
    from: "if string.sub(field, 1, 5) ~= 'lost:' then field = 'lost:' .. field end",
    to: '',
  },
  {
    script: 'adopt',
    bug: 'loses what it did not move',
    from: 'local answer = { 1 }',
    to: "local answer = { 1 } redis.call('DEL', KEYS[2])",
  },
  { script: 'beat', bug: 'renews what was adopted from', from: "if ARGV[3] == '0' then", to: 'if false then' },
  {
    script: 'beat',
    bug: 'is refused by a full Redis, and keeps old words',
    from: "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now_ms - tonumber(ARGV[4]))",
    to: '',
  },
  {
    script: 'beat',
    bug: 'keeps a pause to itself',
    from: "#paused > 16 then paused = ''",
    to: "true then paused = ''",
  },
  {
    script: 'beat',
    bug: "loses the lease to somebody else's key",
    from: "redis.pcall('GET', KEYS[5])",
    to: "redis.call('GET', KEYS[5])",
  },
  { script: 'beat', bug: 'takes any text for a pause', from: "not string.find(paused, '^%d+$') or", to: '' },
  { script: 'beat', bug: 'lets everybody report', from: 'if reporter == false or', to: 'if true or' },
  { script: 'beat', bug: 'lets nobody take over the report', from: 'reporter == false or', to: '' },
  { script: 'beat', bug: 'reports the newest request', from: 'KEYS[4], 0)', to: 'KEYS[4], -1)' },
  { script: 'beat', bug: 'reports for ever', from: "ARGV[1], 'PX', ARGV[5])", to: 'ARGV[1])' },
  {
    script: 'leave',
    bug: 'goes on as the one that reports',
    from: "if redis.pcall('GET', KEYS[7]) == ARGV[1] then",
    to: 'if false then',
  },
  {
    script: 'leave',
    bug: 'takes the report from another',
    from: "if redis.pcall('GET', KEYS[7]) == ARGV[1] then",
    to: 'if true then',
  },
  { script: 'reply', bug: 'makes a list that stays', from: 'if fresh then', to: 'if false then' },
  {
    script: 'reply',
    bug: 'is refused by a full Redis',
    from: "local fresh = redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0",
    to: 'local fresh = true',
  },
  {
    script: 'cancel',
    bug: 'does not say that it removed',
    from: '== 1 then return 1 end',
    to: '== 1 then return 0 end',
  },
  { script: 'cancel', bug: 'is refused by a full Redis', from: 'local fresh =', to: 'local fresh = true --' },
  { script: 'cancel', bug: 'removes nothing', from: "redis.call('LREM', KEYS[1], 1, ARGV[2]) == 1", to: 'false' },
]
