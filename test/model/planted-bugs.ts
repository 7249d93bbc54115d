import type { Operation } from '../../src/redis/library.ts'
import type { Piece } from './jobs-steps.ts'

/**
 * A bug that somebody might write into a function of the library: a change of its text. `touches`: what a run that shows it has to do
 * with, where this comes together too seldom in any run.
 */
export type PlantedBug = readonly [bug: string, from: string, to: string, touches?: readonly Piece[]]
/** By the function they are in; `shared`: what several of them use. */
export type PlantedBugs = Partial<Record<Operation | 'shared', readonly PlantedBug[]>>

const refusedWhenFull: PlantedBug = ['is refused by a full Redis', "flags = { 'allow-oom' }, ", '']

/** In what it does with calls, and with jobs as far as they are taken and passed on like these. */
export const bugsOfCalls: PlantedBugs = {
  push: [
    ['does a repeated push again', 'if before then', 'if false then'],
    ['does the late copy of an older push', 'tonumber(number) >= tonumber(ARGV[1])', 'number == ARGV[1]'],
    [
      'decodes and encodes the payload',
      'late == 0 and ARGV[i + 4]',
      "late == 0 and string.sub(cjson.encode(cjson.decode('{' .. ARGV[i + 4])), 2)",
    ],
    ['forgets how long it was on its way', 'if late < 2 then', 'if true then'],
    ['gives a deadline to what has none', "or ttl == '0'", ''],
    ['rings no bell', "if silent then redis.call('RPUSH', KEYS[2], '1') end", ''],
    ['rings each time', 'if silent then', 'if true then'],
    ['forgets the limit', 'tonumber(ARGV[3]) - length', 'tonumber(ARGV[3])'],
    [
      'goes through when Redis is full',
      "'pshub_1_push', callback",
      "'pshub_1_push', flags = { 'allow-oom' }, callback",
    ],
  ],
  claim: [
    ['does not record what it pops', "redis.pcall('HSET', KEYS[3], unpack(held))", '1'],
    ['asks for no lease', 'if not lease or', 'if lease and false and'],
    ['hands out what has expired', 'is_wanted = not at or', 'is_wanted = true or'],
    ['takes more bytes than it may', 'if bytes_left <= 0 then', 'if false then'],
    ['loses what is too much', "for k = #batch, i, -1 do redis.call('LPUSH', list, batch[k]) end", ''],
    ['turns round the order of what is too much', 'for k = #batch, i, -1 do', 'for k = i, #batch do'],
    ['rings no bell for what is left', 'ring(KEYS[2])', ''],
    ['leaves a token for calls where none is left', "else redis.call('DEL', KEYS[2]) end", 'end'],
    ['leaves a token for jobs where none is left', "if jobs_left == 0 and ARGV[3] ~= '0' then", 'if false then'],
    ['loses what it popped when it cannot hold it', 'for i = taken, 1, -1 do', 'for i = taken, calls + 1, -1 do'],
    ['makes up the same id twice', "id = 'hand-' .. now_text .. '-' .. (taken + 1)", "id = 'hand'"],
    ['gives jobs more slots than it may', 'math.min(tonumber(ARGV[3]), wanted - taken)', 'wanted - taken'],
    ['holds a job as a call', 'accept(message, prefix .. id,', 'accept(message, id,'],
    ['keeps quiet about the calls that are left', 'if left == 0 and dropped', 'if dropped'],
    ['keeps quiet about the jobs that are left', 'and jobs_left == 0 and', 'and'],
    ['takes jobs for calls', 'and calls == taken and', 'and'],
    ['forgets jobs that found no slot', 'take_jobs(calls + room) or -1', 'take_jobs(calls + room) or 0'],
    ['loses jobs that it cannot hold', 'for i = taken, 1, -1 do', 'for i = calls, 1, -1 do'],
    refusedWhenFull,
  ],
  handback: [
    ['puts back what is not held any more', 'if message and not', "message = message or '' if message and not"],
    ['turns the order round', 'if head then from, to, step = #ARGV, 2, -1 end', ''],
    ['takes a job for a call', 'is_job(ARGV[i])', 'false'],
    ['rings no bell for jobs', 'if jobs > 0 then', 'if false then'],
    ['loses what the list cannot take', "redis.call('LLEN', KEYS[2])", ''],
    ['goes on holding', "redis.call('HDEL', KEYS[1], ARGV[i])", ''],
    ['rings no bell', 'if calls > 0 then', 'if false then'],
  ],
  leave: [
    ['takes a job for a call', 'is_job(held[i])', 'false'],
    ['puts back what was started', 'for i = 2, #ARGV do', 'for i = 2, 1 do'],
    ['lets run twice what must not', 'if body and may_repeat(ARGV[i], message) then', 'if body then'],
    ['keeps what may run twice', 'if body and may_repeat(ARGV[i], message) then', 'if false then'],
    ['marks what workers died with', 'if losses == 0 and', 'if'],
    ['marks nothing', 'if losses == 0 and', 'if false and'],
    ['holds without a lease', 'if kept > 0 then', 'if false then'],
    ['puts back what it had adopted', 'if is_lost(held[i]) or is_out(held[i]) then', 'if false then'],
    ['goes on as the one that reports', 'end_turns(KEYS[5], KEYS[7], ARGV[1])', ''],
    ['takes the report from another', 'end_turns(KEYS[5], KEYS[7], ARGV[1])', "redis.call('DEL', KEYS[7])"],
    refusedWhenFull,
  ],
  adopt: [
    ['loses what it cannot hold', "redis.call('HLEN', KEYS[3])", ''],
    ['moves more bytes than it may', 'if bytes_left <= 0', 'if false'],
    ['copies instead of moving', "redis.call('HDEL', KEYS[2], found[i])", ''],
    ['takes from the living', 'if theirs and', 'if false and'],
    ['gives to one without a lease', 'if not mine or', 'if mine and false and'],
    ['lets the lost worker go on after a part', "redis.call('ZADD', KEYS[1], 'XX', 0, ARGV[1])", ''],
    ['forgets that it may have been started', "hold('lost:' .. held_id, counted)", 'hold(held_id, counted)'],
    ['loses what it did not move', 'local left = ', "redis.call('DEL', KEYS[2]) local left = "],
    ['lets run twice what must not', 'local may = may_repeat(held_id, message)', 'local may = true'],
    ['lets nothing run twice', 'local may = may_repeat(held_id, message)', 'local may = false'],
    ['counts no deaths', 'losses = losses + 1', ''],
    ['lets it kill a third worker', 'max_losses = 3', 'max_losses = 4'],
    ['puts back what has expired', 'and is_over(message, now_us)', 'and false'],
    ['decides twice', 'if is_lost(found[i]) then hold', 'if false then hold'],
    [
      'takes a job for a call',
      'return_job(KEYS[6], plain_id(held_id), message)',
      "redis.call('LPUSH', KEYS[4], message)",
    ],
    ['rings no bell', 'ring(KEYS[5])', ''],
    ['forgets the dead', 'bury(KEYS[6], failed, now, ARGV[5], ARGV[6])', ''],
    refusedWhenFull,
  ],
  beat: [refusedWhenFull],
  // Of a beat.
  shared: [
    ['renews what was adopted from', "if args[3] == '0' then", 'if false then'],
    ['keeps old words', "redis.call('ZREMRANGEBYSCORE', keys[2], '-inf', now - args[4])", '0'],
    ['keeps a pause to itself', "#paused > 16 then paused = ''", "true then paused = ''"],
    ["loses the lease to somebody else's key", "redis.pcall('GET', keys[5])", "redis.call('GET', keys[5])"],
    ['takes any text for a pause', "not string.find(paused, '^%d+$') or", ''],
    ['lets everybody report', 'holder ~= false and holder ~= args[1]', 'false'],
    ['lets nobody take over the report', 'holder ~= false and', ''],
    ['reports the newest request', 'keys[4], 0)', 'keys[4], -1)'],
    ['reports for ever', "args[1], 'PX', ms)", 'args[1])'],
  ],
  reply: [['makes a list that stays', "redis.call('PEXPIRE', KEYS[1], ARGV[1])", ''], refusedWhenFull],
  cancel: [
    ['does not say that it removed', 'return gone', 'return 0'],
    ['removes nothing', "if ARGV[2] ~= '' then", 'if false then'],
    refusedWhenFull,
  ],
}

/** In what it does with jobs alone. */
export const bugsOfJobs: PlantedBugs = {
  enqueue: [
    ['does a repeated batch again', 'if number and', 'if false and'],
    ['forgets who was there already', 'unpack(twins)', 'nil'],
  ],
  shared: [
    ['lets twins in', 'if state and not ended and not is_late then', 'if false then', ['unique']],
    ['keeps a lock for ever', "if lock and redis.pcall('GET', lock) == id then", 'if false then', ['unique']],
    [
      "takes another one's lock away",
      "if lock and redis.pcall('GET', lock) == id then",
      'if lock then',
      ['unique', 'enqueue', 'withdraw'],
    ],
    [
      'does not hold again what waits again',
      "if options['until'] == 'started' then",
      'if false then',
      ['unique', 'adopt'],
    ],
    [
      'tells the batch of a twin nothing',
      "local other = string.match(field, '^batch:(.+)$')",
      'local other',
      ['unique', 'batch'],
    ],
    [
      'lets the record of a cancelled job go',
      "redis.pcall('PERSIST', record)",
      "redis.pcall('PEXPIRE', record, 1)",
      ['tracked', 'withdraw'],
    ],
    ['has no priorities', `'"priority":"high"'`, `'"priority":"none"'`],
    [
      'counts a job twice in its batch',
      "or redis.pcall('SADD', ended, id) ~= 1 then",
      "or not redis.pcall('SADD', ended, id) then",
      ['batch', 'sendOut'],
    ],
    [
      'ends a batch twice',
      "redis.call('HSETNX', record, 'ended', now_ms()) == 0",
      "not redis.call('HSETNX', record, 'ended', now_ms())",
      ['batch', 'sendOut'],
    ],
    ['ends a batch before it is closed', 'if not total or done', 'if total and done', ['batch', 'claim', 'settle']],
  ],
  due: [
    ['takes one too many away', 'taken - 1', 'taken'],
    ['leaves what it moved', "redis.call('ZREMRANGEBYRANK', set, 0, taken - 1)", ''],
  ],
  claim: [
    ['runs what was cancelled', 'if is_cancelled(KEYS[5], id, options) then', 'if false then', ['tracked', 'withdraw']],
    ['tells no batch of what was cancelled', 'tally_of(', 'type(', ['tracked', 'batch', 'withdraw']],
    [
      'tells nobody of what follows what was cancelled',
      'if jobs_left ~= 0 or cancelled > 0 then',
      'if jobs_left ~= 0 then',
      ['tracked', 'batch', 'withdraw'],
    ],
  ],
  settle: [
    ['settles what it does not hold', "redis.call('HDEL', KEYS[1], ARGV[i])", ''],
    [
      'ends another run than the one that it was sent for',
      "if message and (string.match(message, leading) or '') == ARGV[i + 1] then",
      'if message then',
      ['arrive', 'claim', 'settle', 'ripen', 'retry'],
    ],
    ['loses the next step', 'follow(following)\n    return', 'return', ['chain', 'settle']],
    ['puts a step of another queue into its own', 'if queue then', 'if false then', ['chain', 'settle']],
    [
      'tries a cancelled job again',
      'if is_back and is_cancelled',
      'if false and is_cancelled',
      ['tracked', 'claim', 'withdraw', 'retry'],
    ],
    [
      'forgets what was put off',
      "if later[1] then postpone(KEYS[2], 'scheduled', later) end",
      '',
      ['claim', 'settle', 'putoff'],
    ],
    [
      'takes being put off for a failure',
      "if outcome == 'putoff' then",
      'if false then',
      ['claim', 'settle', 'putoff'],
    ],
    ['forgets the dead', 'dropped = dropped + bury(KEYS[2], failed, now, ARGV[1], ARGV[2])', '', ['claim', 'settle']],
    [
      'counts no failures',
      'local failed = with_failure(message, id, failure, now)',
      'local failed = message',
      ['claim', 'settle'],
    ],
  ],
  adopt: [
    ['drops what is to be done elsewhere', "redis.call('HSET', KEYS[3], found[i], message)", '', ['chain', 'adopt']],
    ['tells no batch of the dead', 'tally_of(', 'type(', ['batch', 'adopt', 'killer']],
  ],
  forward: [['lets a job come twice', "'NX', 'PX', ARGV[1])", "'PX', ARGV[1])", ['chain', 'sendOut']]],
  withdraw: [
    ['leaves what waits for its time', "redis.call('ZREM', set, text)", '', ['tracked', 'withdraw']],
    ['tells no batch', 'tally(jobs,', 'type(jobs,', ['tracked', 'batch', 'withdraw']],
    [
      'ends what a batch elsewhere waits for',
      'if text and not elsewhere[1] then',
      'if text then',
      ['tracked', 'batch', 'withdraw'],
    ],
  ],
  revive: [
    ['revives what is not there', 'text) == 1', 'text) >= 0', ['claim', 'settle', 'hasten', 'retry']],
    [
      'revives a dead job beside its twin',
      'not hold_unique(KEYS[1], id, options) and',
      '',
      ['unique', 'claim', 'settle', 'revive'],
    ],
  ],
}

/** In what it does with keys: jobs in lines, and payloads that are merged. */
export const bugsOfKeys: PlantedBugs = {
  claim: [
    [
      'forgets what runs',
      "if running[1] then redis.pcall('HSET', beside(KEYS[5], 'running:' .. task), unpack(running)) end",
      '',
    ],
    ['loses keys that it has no room for', 'put_back(task, found, from)\n    return others', 'return others'],
    ['takes the wait for a key for backlog', 'tonumber(found[i + 1]) or 0))', '0))'],
    ['takes keys for nothing to do', "beside(KEYS[5], 'keyed'), KEYS[5], low) > 0", 'KEYS[5], low) > 0'],
    ['counts what it took off a line no more', 'if count > 0 then count_lined(KEYS[5], task, -count) end', ''],
  ],
  settle: [
    [
      'drops what came while it ran',
      'leave_run(runs_leaving, id, task, keys)',
      "redis.pcall('HDEL', beside(KEYS[2], 'running:' .. task), unpack(keys))",
    ],
    ['forgets that it went well', '    well[task][#well[task] + 1] = each.key\n', ''],
    ['rings no bell for what comes next', 'if keys_due(KEYS[2]) > 0 then ring(KEYS[3]) end', ''],
  ],
  adopt: [
    ['loses what a lost worker ran', '    decide_run(held_id, message, task, run)\n', ''],
    ['takes a run for a job', '  if task then\n    decide_run', '  if false then\n    decide_run'],
    ['tells nobody of what is behind a dead job', 'if next(leaving) then ring(KEYS[7]) end', ''],
  ],
  key: [
    ['skips what runs', 'if is_running then return -1 end', ''],
    [
      'keeps the tries of what it skipped',
      "  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), key)\n  return 1",
      '  return 1',
    ],
    [
      'counts what it deleted',
      "    redis.call('UNLINK', set)\n    count_lined(jobs, task, -1)",
      "    redis.call('UNLINK', set)",
    ],
    [
      'leaves an empty key due',
      "key)\n    redis.pcall('ZREM', beside(jobs, 'keys:' .. task), key)\n  end\n  note_first",
      'key)\n  end\n  note_first',
    ],
  ],
  shared: [
    ['repeats a token', 'math.max(tonumber(now_us_text()), last + 1)', 'tonumber(now_us_text())'],
    ['lets a payload that comes back overwrite a later score', 'if stays and before > 0 then', 'if false then'],
    ['lets the last score count where the first one does', 'payload }, is_first, added)', 'payload }, false, added)'],
    ['gives what came meanwhile no time of its own', 'if due and is_new == 1 and', 'if false and'],
    ['starts a key that runs', 'if not is_running then stands, is_placed =', 'if true then stands, is_placed ='],
    ['takes the highest scores first', "redis.pcall('ZPOPMIN', set, page)", "redis.pcall('ZPOPMAX', set, page)"],
    ['loses what is too much', "redis.call('ZADD', set, popped[i + 1], popped[i])", ''],
    ['takes one that lost a worker along', 'if is_alone and keys[1] then break end', ''],
    ['gives up the others with one payload', 'scored_of(each, place), now * 1000', '{}, now * 1000'],
    ['keeps the tries of what is given up', "  redis.pcall('HDEL', beside(jobs, 'tried:' .. task), each.key)\n", ''],
    ['counts no lost worker', 'local losses = (tonumber(state.losses) or 0) + 1', 'local losses = 1'],
    [
      'puts a job that comes back behind the others',
      "redis.pcall('LPUSH', line_of(jobs, task, key), message)",
      "redis.pcall('RPUSH', line_of(jobs, task, key), message)",
    ],
    ['lets a key pass whose first job waits', 'if options.due or options.delay or options.tries then', 'if false then'],
    ['keeps the failures of an orphan', 'if not has_merged(jobs, task, running[i]) then', 'if false then'],
    ['frees no orphan', 'if not is_held then', 'if false then'],
    ['keeps an orphan as long as the clock is behind', 'and tonumber(fence) < before + 2 * checked_after', ''],
    [
      'revives behind the time of its key',
      "redis.pcall('ZREM', beside(jobs, 'later'), task .. ' ' .. options.key)",
      '',
    ],
    ['loses keys whose time has come', 'stand(jobs, task, key, found[i + 1] * 1000)', 'type(key)'],
  ],
}
