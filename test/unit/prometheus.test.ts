import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Histogram } from '../../src/figures/histogram.ts'
import { boundsUs } from '../../src/figures/load.ts'
import { MetricTotals, type Overview, prometheusMetrics, prometheusText } from '../../src/index.ts'
import { parseExposition } from '../support/prometheus-format.ts'
import { read, rowsOf, unquoted } from '../support/protocol-document.ts'
import { runs } from '../support/runs.ts'

const waits = { count: 9, sum: 9000, p50: 1000, p95: 2000, p99: 3000, max: 4000 }
const load = {
  callsPerSecond: 2,
  errorRate: 0,
  failed: {},
  rejected: {},
  notRun: {},
  us: { backlog: waits, queue: undefined, exec: waits },
}
const stats = {
  seen: 1_795_220_163_659,
  busy: 1,
  draining: true,
  counters: { ok: 8, rejected: 4, failed: 1, expired: 0, malformed: 2, unserved: 3 },
  busyShare: 0.25,
  loopMs: { mean: 1, p99: 20, max: 30 },
  rssBytes: 5e7,
  jobs: { ran: 40, retried: 3, dead: 1, putOff: 2, lateMs: { p50: 2, p99: 18, max: 21 } },
}
/** Waits of so many microseconds, as an overview has them. */
const waited = (...us: number[]) => {
  const histogram = new Histogram()
  for (const each of us) histogram.record(each)
  return { counts: histogram.within(boundsUs), sum: histogram.sum }
}
const overviewOf = (
  name = 'q',
  task = 't:1.0',
  host = 'h',
): Pick<Overview, 'tasks' | 'workers' | 'queues' | 'unanswered'> => ({
  unanswered: [
    {
      task,
      queue: name,
      code: 'Overloaded',
      lastMinute: 3,
      count: 9,
      atMs: 1_795_220_000_000,
      message: '',
      from: '',
      hub: 'h1',
      host,
      pid: 17,
    },
  ],
  tasks: [
    {
      task,
      queue: name,
      description: '',
      timeoutMs: 1,
      idempotent: false,
      digest: '',
      at: 0,
      workers: ['w1'],
      retired: false,
      queues: [{ queue: name, workers: 1, first: true }],
      conflict: false,
      callers: [],
      load,
      buckets: { ended: 4, backlog: waited(1000, 2000), queue: waited(), exec: waited(3000, 7000) },
      totals: { ok: 10, rejected: { CardDeclined: 4 }, failed: { TaskFailed: 1 } },
    },
  ],
  queues: [
    {
      queue: name,
      backlog: 7,
      pausedMs: 1_795_220_000_000,
      oldestMs: 1500,
      jobs: 3,
      dead: 1,
      oldestJobMs: 2500,
      scheduled: 5,
      retrying: 6,
      keys: { waiting: 8, running: 9, lagMs: 3500, longestMs: 60_000 },
      held: 2,
      workers: 1,
      slots: 4,
      busy: 1,
      busyShare: 0.5,
      load,
    },
  ],
  workers: [
    {
      id: 'w1',
      queue: name,
      host,
      pid: 17,
      slots: 4,
      tasks: { [task]: '' },
      client: '',
      started: 0,
      live: true,
      load,
      stats,
      totals: { [task]: { ok: 10, rejected: { CardDeclined: 4 }, failed: { TaskFailed: 1 } } },
      jobs: { [task]: { ok: 2, rejected: {}, failed: { TaskFailed: 1 } } },
    },
  ],
})

describe('the text for Prometheus', () => {
  it('has every metric of the table, in base units', () => {
    const { samples, types, helps } = parseExposition(prometheusText(overviewOf()))
    expect([...types.keys()]).toEqual(Object.keys(prometheusMetrics))
    for (const [name, { help, type, labels }] of Object.entries(prometheusMetrics)) {
      expect([helps.get(name), types.get(name)]).toEqual([help, type])
      const own = samples.filter(sample => sample.name === name || sample.name === `${name}_sum`)
      expect(own.length, name).toBeGreaterThan(0)
      for (const sample of own) expect(Object.keys(sample.labels), name).toEqual([...labels])
    }
    const samplesOf = (name: string, labels: object = {}) =>
      samples.filter(
        sample => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      )
    expect(samplesOf('pshub_queue_oldest_seconds')).toMatchObject([{ value: 1.5 }])
    expect(samplesOf('pshub_queue_oldest_job_seconds')).toMatchObject([{ value: 2.5 }])
    expect(samplesOf('pshub_worker_jobs_total', { outcome: 'put_off' })).toMatchObject([{ value: 2 }])
    expect(samplesOf('pshub_worker_jobs_total')).toHaveLength(4)
    expect(samplesOf('pshub_worker_job_lateness_seconds')).toMatchObject([{ value: 0.021 }])
    expect(samplesOf('pshub_queue_paused')).toMatchObject([{ value: 1 }])
    // 15 ended in all, and half of the four of the last minute ran.
    const bucketsOf = (phase: string) =>
      samplesOf('pshub_wait_seconds_bucket', { phase }).map(({ labels, value }) => [labels.le, value])
    expect(bucketsOf('exec')).toEqual(
      expect.arrayContaining([
        ['0.0025', 0],
        ['0.005', 3.75],
        ['0.01', 7.5],
        ['+Inf', 7.5],
      ]),
    )
    expect(samplesOf('pshub_wait_seconds_count', { phase: 'exec' })).toMatchObject([{ value: 7.5 }])
    expect(samplesOf('pshub_wait_seconds_sum', { phase: 'exec' })).toMatchObject([{ value: 0.0375 }])
    expect(samplesOf('pshub_worker_loop_delay_seconds')).toMatchObject([{ value: 0.03 }])
    expect(samplesOf('pshub_worker_last_beat_timestamp_seconds')).toMatchObject([{ value: 1_795_220_163.659 }])
    expect(samplesOf('pshub_calls_total', { code: 'ok' })).toMatchObject([{ value: 8 }])
    expect(samplesOf('pshub_calls_total', { outcome: 'failed', code: 'TaskFailed' })).toMatchObject([{ value: 0 }])
    expect(samplesOf('pshub_job_runs_total', { code: 'ok' })).toMatchObject([{ value: 2 }])
    expect(samplesOf('pshub_job_runs_total', { code: 'TaskFailed' })).toMatchObject([{ value: 1 }])
    expect(samplesOf('pshub_calls_total', { outcome: 'rejected', code: 'CardDeclined' })).toMatchObject([{ value: 4 }])
    expect(samplesOf('pshub_unanswered_total', { outcome: 'rejected', code: 'Overloaded' })).toMatchObject([
      { value: 9 },
    ])
    expect(samplesOf('pshub_worker_draining')).toMatchObject([{ value: 1, labels: { queue: 'q', host: 'h' } }])
  })

  it('is well-formed whatever names are in the registry, and shows them unchanged but for controls', () => {
    const anyName = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        'a"} 1\npshub_queue_backlog{queue="x',
        '\\',
        '\\n',
        '"',
        '\n',
        '\r\n# TYPE x gauge',
        '\u001b[31m',
      ),
    )
    fc.assert(
      fc.property(anyName, anyName, anyName, (queue, task, host) => {
        const { samples } = parseExposition(prometheusText(overviewOf(queue, task, host)))
        const shown = (name: string) => name.replace(/(?!\n)\p{Cc}/gu, '\ufffd')
        const worker = samples.find(({ name }) => name === 'pshub_worker_up')!
        expect(worker.labels).toEqual({ queue: shown(queue), host: shown(host) })
        expect(samples.find(({ name }) => name === 'pshub_calls_total')!.labels.task).toBe(shown(task))
      }),
      { numRuns: runs(20, 200) },
    )
  })

  it('leaves out what is unknown and what comes twice, and begins counters at 0', () => {
    const overview = overviewOf()
    const [queue] = overview.queues
    const [worker] = overview.workers
    const { stats: _, ...card } = worker!
    overview.queues = [{ ...queue!, oldestMs: undefined, busyShare: undefined, scheduled: undefined }]
    overview.workers = [
      worker!,
      worker!,
      { ...card, id: 'w2', stats: undefined },
      { ...worker!, id: 'w3', live: false },
    ]
    const { samples } = parseExposition(prometheusText(overview))
    const of = (name: string) => samples.filter(sample => sample.name === name)
    expect(of('pshub_queue_oldest_seconds')).toEqual([])
    expect(of('pshub_queue_busy_ratio')).toEqual([])
    expect(of('pshub_queue_scheduled_jobs')).toEqual([])
    expect(of('pshub_queue_retrying_jobs')).toMatchObject([{ value: 6 }])
    // Of one host together.
    expect([...of('pshub_worker_up'), ...of('pshub_worker_lost')].map(({ value }) => value)).toEqual([3, 1])
    expect(of('pshub_worker_busy').map(({ value }) => value)).toEqual([2])
    overview.queues = [{ ...queue!, backlog: 0, oldestMs: undefined, pausedMs: undefined }]
    expect(prometheusText(overview)).toContain('pshub_queue_oldest_seconds{queue="q"} 0\n')
    expect(prometheusText(overview)).toContain('pshub_queue_paused{queue="q"} 0\n')
    overview.workers = [{ ...worker!, tasks: { 'new:1.0': '', constructor: '' }, totals: {} }]
    const begun = parseExposition(prometheusText(overview)).samples.filter(({ name }) => name === 'pshub_calls_total')
    expect(begun.map(({ labels, value }) => [labels.task, labels.code, value])).toEqual([
      ['new:1.0', 'ok', 0],
      ['new:1.0', 'TaskFailed', 0],
      ['constructor', 'ok', 0],
      ['constructor', 'TaskFailed', 0],
    ])
    expect(prometheusText({ tasks: [], queues: [], workers: [], unanswered: [] })).toBe('')
  })
})

const known = prometheusMetrics as Record<string, { labels: readonly string[]; help: string; type: string }>

/** A histogram has its buckets, their sum and their count. */
const familyOf = (name: string) => (known[name] ? name : name.replace(/_(bucket|sum|count)$/, ''))
const labelsOf = (name: string) => [...known[familyOf(name)]!.labels, ...(name.endsWith('_bucket') ? ['le'] : [])]

/** Fails for a metric that does not exist, and for a label that it does not have. */
const checkExpression = (expression: string): void => {
  const named = [...expression.matchAll(/\bpshub_\w+/g)].map(([name]) => name)
  expect(named.length, expression).toBeGreaterThan(0)
  for (const name of named) expect(Object.keys(known), expression).toContain(familyOf(name))
  const labels = new Set(named.flatMap(labelsOf))
  for (const [, name, selectors] of expression.matchAll(/\b(pshub_\w+)\{([^}]*)\}/g)) {
    for (const [, label] of selectors!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g))
      expect(labelsOf(name!), expression).toContain(label)
  }
  for (const [, list] of expression.matchAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g))
    for (const label of list!.split(/,\s*/)) expect([...labels], expression).toContain(label)
}

/** The counters of one task as they are told of several looks. */
const looks = (...seen: ReturnType<typeof overviewOf>[]) => {
  const totals = new MetricTotals()
  return seen.map(overview => {
    totals.add(overview)
    const { samples } = parseExposition(prometheusText(overview, totals))
    return (name: string, labels: object) =>
      samples.find(
        sample => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      )?.value
  })
}

describe('counters over many looks', () => {
  const worker = (id: string, ok: number, live = true) => ({
    ...overviewOf().workers[0]!,
    id,
    live,
    stats: { ...stats, counters: { ...stats.counters, ok } },
    totals: { 't:1.0': { ok, rejected: {}, failed: {} } },
    jobs: {},
  })
  const lookAt = (...workers: ReturnType<typeof worker>[]) => ({ ...overviewOf(), workers })

  it('never fall when workers come and go, and begin at 0', () => {
    const seen = looks(
      lookAt(worker('a', 100), worker('b', 50)),
      lookAt(worker('a', 110), worker('b', 50)),
      lookAt(worker('a', 110), worker('c', 5)),
      lookAt(),
      lookAt(worker('d', 1)),
    )
    expect(seen.map(of => of('pshub_calls_total', { code: 'ok' }))).toEqual([0, 10, 15, 15, 16])
    expect(seen.map(of => of('pshub_wait_seconds_bucket', { phase: 'exec', le: '+Inf' }))).toEqual([0, 5, 7.5, 7.5, 8])
  })

  it('go on with a worker that lost its lease or left out a task for a while, and begin anew with one that was restarted', () => {
    const seen = looks(
      lookAt(worker('a', 100)),
      lookAt(worker('a', 110)),
      lookAt({ ...worker('a', 110), totals: {} as never }),
      lookAt(worker('a', 112)),
      lookAt(worker('a', 112, false), { ...worker('b', 0), stats: undefined as never }),
      lookAt(worker('a', 112, false), worker('b', 115)),
      lookAt(worker('a', 112, false), worker('b', 115, false), worker('c', 4)),
    )
    expect(seen.map(value => value('pshub_calls_total', { code: 'ok' }))).toEqual([0, 10, 10, 12, 12, 15, 19])
  })

  it('have no more series than there are hosts now, and than a worker tells codes apart', () => {
    const seen = looks(
      ...Array.from({ length: 200 }, (_, at) =>
        lookAt({
          ...worker(`w${at}`, 0),
          host: `host-${at}`,
          totals: { 't:1.0': { ok: 0, rejected: {}, failed: { [`Own${at}`]: 1 } } },
        }),
      ),
    )
    const last = seen.at(-1)!
    expect(last('pshub_worker_malformed_total', { host: 'host-198' })).toBeUndefined()
    expect(last('pshub_worker_malformed_total', { host: 'host-199' })).toBeDefined()
    expect(last('pshub_calls_total', { code: 'Own1' })).toBe(1)
    expect(last('pshub_calls_total', { code: 'Own199' })).toBeUndefined()
    expect(last('pshub_calls_total', { code: 'Other' })).toBeGreaterThan(100)
  })

  it('count what a hub said in the last minute, where it is told of again after an hour', () => {
    const of = (count: number, lastMinute: number) => {
      const overview = overviewOf()
      return { ...overview, unanswered: overview.unanswered.map(calls => ({ ...calls, count, lastMinute })) }
    }
    const seen = looks(of(9, 3), of(11, 2), { ...overviewOf(), unanswered: [] }, of(14, 1))
    expect(seen.map(value => value('pshub_unanswered_total', { code: 'Overloaded' }))).toEqual([0, 2, 2, 3])
    // The hub had no room for it meanwhile.
    const others = { ...overviewOf(), unanswered: overviewOf('q', 'u:1.0').unanswered }
    const again = looks(of(9, 3), others, of(2, 2))
    expect(again.map(value => value('pshub_unanswered_total', { task: 't:1.0' }))).toEqual([0, 0, 2])
  })
})

describe('what is made of the metrics', () => {
  it('docs/measuring.md lists them all', () => {
    const rows = rowsOf(read('docs/measuring.md').split('## Watch with Prometheus and Grafana')[1]!.split('\n## ')[0]!)
    const metrics = rows.filter(([name]) => name!.startsWith('`pshub_'))
    expect(metrics.map(([name, labels]) => [unquoted(name!), labels])).toEqual(
      Object.entries(known).map(([name, metric]) => [name, metric.labels.map(label => `\`${label}\``).join(' ')]),
    )
  })

  interface Panel {
    type: string
    title: string
    datasource?: { uid: string }
    fieldConfig?: { defaults: { unit: string } }
    targets?: { expr: string; legendFormat: string; datasource: { uid: string } }[]
  }

  it('the dashboard shows metrics that there are, with their units', () => {
    const dashboard = JSON.parse(read('examples/grafana/pshub-dashboard.json'))
    const panels = dashboard.panels as Panel[]
    const variables = dashboard.templating.list as { name: string; type: string; definition?: string }[]
    expect(variables.map(({ name, type }) => [name, type])).toEqual([
      ['datasource', 'datasource'],
      ['queue', 'query'],
      ['task', 'query'],
    ])
    for (const { definition } of variables.slice(1)) checkExpression(definition!.replace(/, \w+\)$/, ')'))
    const units = new Set(['short', 's', 'cps', 'percentunit', 'bytes'])
    for (const { title, type, targets, datasource, fieldConfig } of panels) {
      if (type === 'row') continue
      expect(units, title).toContain(fieldConfig!.defaults.unit)
      expect(targets!.length, title).toBeGreaterThan(0)
      for (const { expr, legendFormat, datasource: own } of targets!) {
        checkExpression(expr)
        for (const { uid } of [own, datasource!]) expect(uid).toMatch(/^\$\{datasource\}$/)
        // A label that the sum took away would be an empty name in the legend.
        const kept = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(', ')
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) if (kept) expect(kept, title).toContain(label)
        const isSeconds = /_seconds(_bucket)?\b/.test(expr)
        expect(fieldConfig!.defaults.unit === 's', title).toBe(isSeconds)
      }
    }
  })

  it('the alert rules look at metrics that there are, and say what to do', () => {
    const text = read('examples/grafana/alerts.yaml')
    const rules = text.split('\n      - alert: ').slice(1)
    const shape =
      /^(Pshub\w+)\n {8}expr: (.+)\n {8}for: \d+[sm]\n {8}labels:\n {10}severity: (?:warning|critical)\n {8}annotations:\n {10}summary: '([^']+)'\n {10}description: '([^']+)'\n*$/
    const names = rules.map(rule => {
      const match = shape.exec(rule)
      expect(match, rule).not.toBe(null)
      const [, name, expression, , description] = match!
      checkExpression(expression!)
      expect(description!.length, name).toBeGreaterThan(80)
      return name
    })
    expect(names.length).toBe(new Set(names).size)
    expect(names).toEqual(expect.arrayContaining(['PshubBacklogGrows', 'PshubEventLoopBlocked', 'PshubNoWorkers']))
    for (const [, name] of text.matchAll(/\b(pshub_\w+)/g)) expect(Object.keys(known)).toContain(familyOf(name!))
  })
})
