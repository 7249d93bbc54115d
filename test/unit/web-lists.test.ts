import { describe, expect, it } from 'vitest'
import type { QueueRow, Summary, TaskRow, WorkerRow } from '../../registry/contract.ts'
import { choiceOf, compare, pageOf, sortOf, withQuery } from '../../registry/web/address/query.ts'
import { applied } from '../../registry/web/live/delta.ts'
import { headlineOf, healthOf } from '../../registry/web/rows/health.ts'
import { queueList, queueView } from '../../registry/web/rows/queues.ts'
import { plainSummary, taskPage, taskView } from '../../registry/web/rows/tasks.ts'
import { workerGroups, workerView } from '../../registry/web/rows/workers.ts'

const idle = {
  callsPerSecond: 0,
  errorRate: 0,
  failed: {},
  rejected: {},
  notRun: {},
  us: { backlog: undefined, queue: undefined, exec: undefined },
}
const waits = (p95: number) => ({ count: 1, sum: p95, p50: p95 / 2, p95, p99: p95, max: p95 })

const task = (full: string, changes: Partial<TaskRow> = {}): TaskRow => {
  const [name = '', version = ''] = full.split(':')
  const load = { ...idle, us: { ...idle.us } }
  return {
    task: full,
    name,
    version,
    queue: 'q',
    queues: [{ queue: changes.queue ?? 'q', workers: changes.workers ?? 1, first: true }],
    summary: '',
    workers: 1,
    retired: false,
    hosts: 1,
    conflict: false,
    idempotent: false,
    keyed: undefined,
    timeoutMs: 1000,
    load,
    trend: [],
    ...changes,
  }
}

const names = (rows: readonly { task: string }[]) => rows.map(({ task }) => task)

describe('the list of tasks', () => {
  const rows = [
    task('b:2.0', { queue: 'mail', summary: 'Sends a letter', load: { ...idle, callsPerSecond: 5 } }),
    task('a:10.0', { workers: 0 }),
    task('a:9.0', {
      conflict: true,
      load: { ...idle, errorRate: 0.5, us: { ...idle.us, exec: waits(9), backlog: waits(1) } },
    }),
    task('c:1.0', { load: { ...idle, us: { ...idle.us, exec: waits(3), backlog: waits(7) } } }),
  ]
  const list = (query: Record<string, string>) => names(taskPage(rows, taskView(query)).found)

  it('is sorted by name and by number at first', () => expect(list({})).toEqual(['a:9.0', 'a:10.0', 'b:2.0', 'c:1.0']))
  it('is found by all words, in name, queue and summary', () => {
    expect(list({ q: 'LETTER  mail' })).toEqual(['b:2.0'])
    expect(list({ q: 'letter c' })).toEqual([])
  })
  it.each([
    ['serving', ['a:9.0', 'b:2.0', 'c:1.0']],
    ['unserved', ['a:10.0']],
    ['conflict', ['a:9.0']],
    ['failing', ['a:9.0']],
    ['nonsense', ['a:9.0', 'a:10.0', 'b:2.0', 'c:1.0']],
  ])('has the state %s', (state, found) => expect(list({ state })).toEqual(found))
  it('tells those that are missed from those that retired', () => {
    const gone = [task('a:1.0', { workers: 0 }), task('b:1.0', { workers: 0, retired: true })]
    const found = (state: string) => names(taskPage(gone, taskView({ state })).found)
    expect([found('unserved'), found('retired')]).toEqual([['a:1.0'], ['b:1.0']])
  })
  it('is of one queue', () => expect(list({ queue: 'mail' })).toEqual(['b:2.0']))
  it('has what is not known last, both ways, and times of what was chosen', () => {
    expect(list({ sort: '-p95' })).toEqual(['a:9.0', 'c:1.0', 'a:10.0', 'b:2.0'])
    expect(list({ sort: 'p95' })).toEqual(['c:1.0', 'a:9.0', 'a:10.0', 'b:2.0'])
    expect(list({ sort: '-p95', times: 'wait' })).toEqual(['c:1.0', 'a:9.0', 'a:10.0', 'b:2.0'])
  })
  it('goes on further pages', () => {
    const many = Array.from({ length: 250 }, (_, at) => task(`t${at}:1.0`))
    const page = (page: string) => taskPage(many, taskView({ page }))
    expect(page('1').shown).toHaveLength(100)
    expect(
      page('3')
        .shown.map(({ name }) => name)
        .at(-1),
    ).toBe('t249')
    expect(page('99')).toMatchObject({ page: 3, pages: 3 })
    expect(page('-1').page).toBe(1)
  })
  it('shows summaries without the marks of Markdown', () =>
    expect(plainSummary('## Writes **one** `invoice_id`, [see](http://x)')).toBe('Writes one invoice_id, see'))
})

describe('the list of workers', () => {
  const worker = (id: string, changes: Partial<WorkerRow>): WorkerRow => ({
    id,
    queue: 'q',
    host: 'h',
    pid: 1,
    slots: 4,
    tasks: { 'a:1.0': 'x' },
    client: 'pshub-js/0.1.0',
    started: 0,
    live: true,
    load: idle,
    stats: {
      seen: 0,
      busy: 2,
      draining: false,
      counters: { ok: 0, rejected: 0, failed: 0, expired: 0, malformed: 0, unserved: 0 },
    },
    ...changes,
  })
  const rows = [
    worker('w3', { host: 'z' }),
    worker('w1', { pid: 7, live: false }),
    worker('w2', { pid: 3, stats: undefined, tasks: { 'rare:1.0': 'x' }, build: '3f2c1a' }),
  ]
  it('is grouped by host; slots are counted of live ones', () => {
    const { groups } = workerGroups(rows, workerView({}))
    expect(groups.map(({ host, workers, busy, slots }) => [host, workers.map(({ id }) => id), busy, slots])).toEqual([
      ['h', ['w2', 'w1'], 0, 4],
      ['z', ['w3'], 2, 4],
    ])
  })
  it('leaves hosts whole on their pages', () => {
    const many = Array.from({ length: 130 }, (_, at) =>
      worker(`w${at}`, { host: `host-${Math.floor(at / 60)}`, pid: at }),
    )
    const page = (page: string) => {
      const listed = workerGroups(many, workerView({ page }))
      return [...listed.groups.map(({ host, workers }) => `${host} ${workers.length}`), listed.pages]
    }
    expect([page('1'), page('2'), page('3')]).toEqual([
      ['host-0 60', 2],
      ['host-1 60', 'host-2 10', 2],
      ['host-1 60', 'host-2 10', 2],
    ])
  })
  it('is found by task, by build, and by state', () => {
    const ids = (query: Record<string, string>) =>
      workerGroups(rows, workerView(query)).groups.flatMap(({ workers }) => workers.map(({ id }) => id))
    expect(ids({ q: 'rare' })).toEqual(['w2'])
    expect(ids({ q: '3f2c1a' })).toEqual(['w2'])
    expect(ids({ state: 'lost' })).toEqual(['w1'])
    expect(ids({ state: 'draining' })).toEqual([])
  })
})

const queue = (name: string, changes: Partial<QueueRow> = {}): QueueRow =>
  ({
    queue: name,
    backlog: 0,
    oldestMs: undefined,
    jobs: 0,
    dead: 0,
    held: 0,
    workers: 1,
    slots: 4,
    busy: 0,
    busyShare: 0,
    load: idle,
    drainMs: undefined,
    trend: [],
    ...changes,
  }) as QueueRow

describe('the list of queues', () => {
  it('is sorted and filtered by its address', () => {
    const rows = [queue('a', { backlog: 1 }), queue('b', { backlog: 9, workers: 0 }), queue('c')]
    const list = (query: Record<string, string>) => queueList(rows, queueView(query)).map(row => row.queue)
    expect(list({ sort: '-backlog' })).toEqual(['b', 'a', 'c'])
    expect(list({ state: 'unserved' })).toEqual(['b'])
    expect(list({ q: ' C ' })).toEqual(['c'])
    expect(list({ state: 'paused' })).toEqual([])
    rows.push({ ...queue('d'), pausedMs: 1 } as QueueRow)
    expect(list({ state: 'paused' })).toEqual(['d'])
  })
})

describe('health', () => {
  const fine: Summary = {
    tasks: 3,
    unserved: 0,
    conflicts: 0,
    doubled: 0,
    workers: 2,
    draining: 0,
    lost: 0,
    queues: 1,
    paused: 0,
    backlog: 0,
    oldestMs: undefined,
    oldestJobMs: undefined,
    jobs: 0,
    scheduled: 0,
    retrying: 0,
    dead: 0,
    busy: 0,
    slots: 8,
    load: idle,
    memory: undefined,
    unreadable: [],
  }
  const wrong = (changes: Partial<Summary>, queues: QueueRow[] = []) =>
    healthOf({ ...fine, ...changes }, queues)
      .filter(({ tone }) => tone !== 'good')
      .map(({ name, tone, place }) => `${name} ${tone} ${place}`)

  it('is good when nothing is wrong', () => {
    expect(wrong({})).toEqual([])
    expect(headlineOf(healthOf(fine, []))).toBe('All is well')
  })
  it.each([
    [{ unserved: 1 }, 'Tasks without workers bad tasks?state=unserved'],
    [{ conflicts: 2 }, 'Schemas warn tasks?state=conflict'],
    [{ lost: 1 }, 'Workers warn workers?state=lost'],
    [{ workers: 0 }, 'Workers warn workers'],
    [{ paused: 1 }, 'Pauses warn queues?state=paused'],
    [{ doubled: 1 }, 'Queues of tasks warn tasks?state=doubled'],
    [{ unreadable: [{ key: 'pshub:tasks', reason: 'it is not JSON' }] }, 'Registry warn '],
    [{ dead: 1 }, 'Dead jobs warn jobs?state=dead'],
    [{ load: { ...idle, errorRate: 0.01 } }, 'Errors warn tasks?sort=-errors&state=failing'],
    [{ load: { ...idle, errorRate: 0.2 } }, 'Errors bad tasks?sort=-errors&state=failing'],
  ])('%o', (changes, concern) => expect(wrong(changes)).toEqual([concern]))
  it('tells a growing backlog from a burst and from a steady one', () => {
    const backlog = (now: number, oldestMs: number, trend: (number | null)[]) =>
      wrong({ backlog: now, oldestMs }, [queue('a', { backlog: now, oldestMs, trend })])
    expect(backlog(20, 5000, [null, 2, 5, 9])).toEqual(['Backlog bad queues/a'])
    expect(backlog(20, 50, [null, 2, 5, 9])).toEqual([])
    expect(backlog(10, 5000, [9, 11, 10, 9, 9, 10])).toEqual([])
    expect(backlog(20, 5000, [null])).toEqual([])
    expect(backlog(1, 5001, [null])).toEqual(['Backlog bad queues/a'])
  })
  it('tells of what nobody serves, of rejected calls and of a full Redis, with what to do', () => {
    const unserved = healthOf(fine, [queue('a', { backlog: 39, oldestMs: 55_000, workers: 0 })])
    expect(unserved[0]?.text).toMatch(
      /^a: No worker: 39 requests wait, the oldest for 55 s\. Start a worker: .* --queue a$/,
    )
    const rejected = healthOf({ ...fine, load: { ...idle, callsPerSecond: 1, notRun: { Overloaded: 40 } } }, [])
    expect(rejected[0]).toMatchObject({ name: 'Rejected calls', tone: 'bad' })
    expect(rejected[0]?.text).toMatch(/^40 calls of the last minute \(40 %\) .* Overloaded\. .*start more workers/)
    const full = healthOf({ ...fine, memory: { usedBytes: 100, maxBytes: 100 } }, [])
    expect(full[0]).toMatchObject({ name: 'Memory of Redis', tone: 'bad' })
  })
  it('has the worst first', () => {
    const concerns = healthOf({ ...fine, lost: 1, unserved: 1 }, [])
    expect(concerns.map(({ tone }) => tone).slice(0, 3)).toEqual(['bad', 'warn', 'good'])
    expect(headlineOf(concerns)).toBe('1 problem, 1 to check')
  })
})

describe('addresses', () => {
  it('hold what differs from the usual, in one order', () => {
    expect(withQuery({ q: 'a b', page: '2' }, { page: undefined, queue: 'x:y', state: '' })).toBe('?q=a+b&queue=x:y')
    expect(withQuery({}, {})).toBe('')
  })
  it('may say anything', () => {
    expect(choiceOf(['a', 'b'], 'zzz')).toBe('a')
    expect(sortOf(['a', 'b'], '-b', 'a')).toEqual({ column: 'b', isDown: true })
    expect(sortOf(['a', 'b'], '-zzz', '-a')).toEqual({ column: 'a', isDown: true })
    expect([pageOf('2', 3), pageOf('9', 3), pageOf('x', 3), pageOf('1e9', 0)]).toEqual([2, 3, 1, 1])
    expect(compare(undefined, 1, true)).toBe(1)
    expect(compare(1, undefined, false)).toBe(-1)
  })
})

describe('rows of the live stream', () => {
  const keyOf = (row: { key: string }) => row.key
  const first = applied(undefined, { full: true, rows: [{ key: 'a' }, { key: 'b' }], gone: [] }, keyOf)

  it('stay the same ones where nothing changed', () => {
    expect(applied(first, { full: false, rows: [], gone: [] }, keyOf)).toBe(first)
    const second = applied(first, { full: false, rows: [{ key: 'b' }], gone: [] }, keyOf)
    expect(second).not.toBe(first)
    expect(second.get('a')).toBe(first.get('a'))
    expect(second.get('b')).not.toBe(first.get('b'))
  })
  it('go, come and start over', () => {
    expect([...applied(first, { full: false, rows: [{ key: 'c' }], gone: ['a'] }, keyOf).keys()]).toEqual(['b', 'c'])
    expect([...applied(first, { full: true, rows: [{ key: 'z' }], gone: [] }, keyOf).keys()]).toEqual(['z'])
  })
})
