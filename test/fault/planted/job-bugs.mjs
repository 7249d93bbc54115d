// Bugs in what becomes of merged jobs, to show that the suite for jobs finds them: `run.mjs --planted <name>` of test/fault/jobs.

import { noFence } from './bugs.mjs'

/** A first step with this next time and this job; then there is time to die. */
const inTwoSteps = (next, job) =>
  `if (!(await run(client, 'tick', [jobs, jobBell], [name, tickMs, ${next}, ${job}]))) return false; await new Promise(done => globalThis.setTimeout(done, 400));`

/** As in bugs.mjs; `breaks`: how what it must be seen by begins; `fault`: the one that shows it, F37 as nobody says otherwise; `reshards`: while the number of shards changes, every two seconds as nobody says otherwise. */
export const jobBugs = [
  {
    name: 'connections that do not fence',
    what: 'a settle that was given up ends the next run of its job when it arrives',
    fault: 'F49-settle',
    breaks: ['two at a time', 'settled twice', 'ran again though it had ended'],
    edits: [noFence],
  },
  {
    name: 'claim that forgets what runs',
    what: 'a key whose run goes on is given to another worker',
    breaks: ['two runs of a key at a time'],
    edits: [
      [
        'queue/lua/claim.lua',
        "if running[1] then redis.pcall('HSET', beside(KEYS[5], 'running:' .. task), unpack(running)) end",
        '',
      ],
    ],
  },
  {
    name: 'settle that drops what came meanwhile',
    what: 'a run that ended well takes along what came while it went on',
    breaks: ['lost payload'],
    edits: [
      [
        'queue/lua/settle.lua',
        'leave_run(runs_leaving, id, task, keys)\n  return {}',
        "for _, key in ipairs(keys) do if has_merged(KEYS[2], task, key) then redis.call('UNLINK', merged_of(KEYS[2], task, key)) count_lined(KEYS[2], task, -1) end end leave_run(runs_leaving, id, task, keys)\n  return {}",
      ],
    ],
  },
  {
    name: 'adopt that loses the payloads',
    what: 'what a lost worker ran is freed, and its payloads are not put back',
    breaks: ['lost payload'],
    edits: [
      [
        'queue/lua/shared-merged.lua',
        'wait_again(jobs, id, task, each.key, scored_of(each), at)',
        'wait_again(jobs, id, task, each.key, {}, at)',
      ],
    ],
  },
  {
    name: 'token that repeats',
    what: 'the last token is not remembered, and each step begins with the same millisecond',
    breaks: ['token given twice'],
    edits: [
      [
        'queue/lua/shared-keyed.lua',
        'local first = math.max(tonumber(now_us_text()), last + 1)',
        'local first = math.floor(tonumber(now_us_text()) / 1e6) * 1e6',
      ],
    ],
  },
  {
    name: 'merge that overwrites',
    what: 'what comes back from a run that failed replaces what came meanwhile',
    breaks: ['lost payload'],
    edits: [
      [
        'queue/lua/shared-merged.lua',
        'if scored[1] and not merge(',
        "if scored[1] and has_merged(jobs, task, key) then redis.call('UNLINK', merged_of(jobs, task, key)) count_lined(jobs, task, -1) end\n  if scored[1] and not merge(",
      ],
    ],
  },
  {
    name: 'newest first',
    what: 'a run takes the payloads of the highest scores',
    breaks: ['before one that waited with it', 'not as enqueued', 'not by score'],
    edits: [['queue/lua/shared-runs.lua', "redis.pcall('ZPOPMIN', set, page)", "redis.pcall('ZPOPMAX', set, page)"]],
  },
  {
    name: 'key that stands nowhere',
    what: 'what came while its key ran waits for the next payload of that',
    breaks: ['lost payload', 'left behind'],
    edits: [
      [
        'queue/lua/shared-keyed.lua',
        'if not is_empty and has_merged(jobs, task, key) then\n        local at',
        'if false then\n        local at',
      ],
    ],
  },
  {
    name: 'hub that forgets the former home',
    what: 'jobs of a key are put where it belongs now, though others of it wait where it belonged before',
    breaks: ['out of order', 'two at a time'],
    reshards: true,
    edits: [['hub/placement.js', 'const former = formerHomeOf(shards, key);', 'const former = undefined;']],
  },
  {
    name: 'move that ends first',
    what: 'a job that is moved to another shard is ended where it was, and put in there behind that',
    breaks: ['lost job of a key'],
    reshards: true,
    edits: [
      [
        'worker/roles/forward.js',
        'await target.forward(client, movedMessage(text, nowUs + (monotonicMs() - startedAt) * 1000));\n            await jobQueue.settle(client, workerId, [end]);',
        'await jobQueue.settle(client, workerId, [end]); await sleep(500); await target.forward(client, movedMessage(text, nowUs));',
      ],
    ],
  },
  {
    name: 'change that does not wait',
    what: 'a change of the number of shards is over at once, whatever lies in those that go',
    breaks: ['lost', 'left behind', 'out of order'],
    reshards: true,
    edits: [['queue/resharding.js', 'quietMs < this.#quietMs;', 'quietMs < 0;']],
  },
  {
    name: 'line that ignores what runs',
    what: 'a job of a key can be taken while another one of it runs',
    breaks: ['two at a time', 'out of order'],
    edits: [
      [
        'queue/lua/shared-keyed.lua',
        "if redis.pcall('HEXISTS', beside(jobs, 'running:' .. task), key) ~= 1 and not stand(",
        'if not stand(',
      ],
    ],
  },
  {
    name: 'back to the end of the line',
    what: 'a job of a key that was taken back goes to the end of its line',
    breaks: ['out of order'],
    edits: [
      [
        'queue/lua/shared-keyed.lua',
        "type(redis.pcall('LPUSH', line_of(jobs, task, key), message))",
        "type(redis.pcall('RPUSH', line_of(jobs, task, key), message))",
      ],
    ],
  },
  {
    name: 'tick at any time',
    what: 'the step of a schedule takes any time that it is told',
    breaks: [
      'two jobs for one time',
      'made up for once more',
      'no time of its pattern',
      'lost times',
      'came though paused',
    ],
    edits: [
      [
        'queue/lua/tick.lua',
        'if not time or tonumber(time) ~= tonumber(ARGV[2]) then return 0 end',
        'if not time then return 0 end',
      ],
      // Somebody who is late says so again.
      [
        'queue/job-queue.js',
        "return (await run(client, 'tick', [jobs, jobBell], [name, tickMs, nextMs ?? '', message])) === 1;",
        "const words = [name, tickMs, nextMs ?? '', message]; void new Promise(done => globalThis.setTimeout(done, 1500)).then(() => run(client, 'tick', [jobs, jobBell], words)).catch(() => undefined); return (await run(client, 'tick', [jobs, jobBell], words)) === 1;",
      ],
    ],
  },
  {
    name: 'tick that puts the job in twice',
    what: 'the step of a schedule enqueues its job twice',
    breaks: ['ran ', 'two jobs for one time'],
    edits: [
      [
        'queue/lua/tick.lua',
        'add_job(KEYS[1], now_us_text(), ARGV[4], added)',
        'add_job(KEYS[1], now_us_text(), ARGV[4], added) add_job(KEYS[1], now_us_text(), ARGV[4], added)',
      ],
    ],
  },
  {
    name: 'next time before the job',
    what: 'the next time of a schedule is set in one step, and the job is enqueued in another one',
    breaks: ['lost times', 'lost at the end', 'what was missed is not made up for'],
    edits: [
      [
        'queue/job-queue.js',
        "return (await run(client, 'tick', [jobs, jobBell], [name, tickMs, nextMs ?? '', message])) === 1;",
        `${inTwoSteps("nextMs ?? ''", "''")} await client.zadd(this.keys.ticks, tickMs, name); return (await run(client, 'tick', [jobs, jobBell], [name, tickMs, nextMs ?? '', message])) === 1;`,
      ],
    ],
  },
  {
    name: 'job before the next time',
    what: 'the job of a schedule is enqueued in one step, and its next time is set in another one',
    breaks: ['two jobs for one time', 'made up for once more'],
    edits: [
      [
        'queue/job-queue.js',
        "return (await run(client, 'tick', [jobs, jobBell], [name, tickMs, nextMs ?? '', message])) === 1;",
        `${inTwoSteps('tickMs', 'message')} return (await run(client, 'tick', [jobs, jobBell], [name, tickMs, nextMs ?? '', ''])) === 1;`,
      ],
    ],
  },
  {
    name: 'missed times one by one',
    what: 'each time that was missed is made up for by a job of its own',
    breaks: ['made up for once more', 'what was missed', 'lost times', 'two jobs for one time', 'too late'],
    edits: [['jobs/cron.js', 'nextOf(entry, Math.max(nowMs, tickMs))', 'nextOf(entry, tickMs)']],
  },
  {
    name: 'once taken for skip',
    what: "'once' and 'skip' are taken for each other where times were missed",
    breaks: ['what was missed'],
    edits: [['jobs/cron.js', "const isSkipped = entry.missed === 'skip'", "const isSkipped = entry.missed === 'once'"]],
  },
  {
    name: 'turn that nobody takes over',
    what: 'the turn of a worker that died, to look after schedules, stays its own',
    breaks: ['schedule: nobody took', 'not taken, though', 'too late, though', 'lost at the end', 'lost times'],
    edits: [
      [
        'queue/lua/shared-beat.lua',
        "has_turn(beside(jobs, 'ticker'), args[7])",
        "(redis.pcall('GET', beside(jobs, 'ticker')) == args[1] or redis.pcall('SETNX', beside(jobs, 'ticker'), args[1]) == 1)",
      ],
      // Else the next bell of what is due would hide it.
      ['worker/roles/tick.js', 'onBell() {', 'onBell() { return;'],
    ],
  },
]
