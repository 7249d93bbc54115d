// Journals, put in order: which call ran where and when, and what happened around it.

/**
 * @param events as readJournals gives them
 * @returns calls by token, runs, and what else the invariants look at
 */
export const historyOf = events => {
  const calls = new Map()
  const runs = new Map()
  const history = {
    calls,
    runs,
    lags: new Map(),
    stalls: [],
    samples: [],
    marks: {},
    processes: new Map(),
    adoptions: [],
    leaseLosses: [],
    twice: 0,
    clocks: [],
    promotions: [],
    losses: [],
  }
  for (const event of events) readers[event.e]?.(history, event)
  return history
}

const processOf = ({ processes }, name) => {
  if (!processes.has(name)) processes.set(name, { name, workerIds: [], ups: [], signals: [] })
  return processes.get(name)
}

const readers = {
  clock: ({ clocks }, { t, offsetUs }) => clocks.push({ at: t, offsetUs }),
  mark: ({ marks }, { what, t }) => (marks[what] = t),
  attempt: ({ calls }, { token, by, t, idempotent, timeoutMs, act, stream }) =>
    calls.set(token, { token, by, at: t, idempotent, timeoutMs, act, stream, settles: [], runs: [] }),
  promoted: ({ promotions }, { t, but = [] }) => promotions.push({ at: t, but }),
  unheard({ losses }, { from, t }) {
    if (from) losses.push({ from: t, until: Infinity })
    else losses.at(-1).until = t
  },
  settle: ({ calls }, event) => calls.get(event.token)?.settles.push(event),
  twice: history => history.twice++,
  start(history, { token, run, by, t, worker, atUs, ttlMs }) {
    const entry = { token, run, by, worker, at: t, pushedUs: atUs, ttlMs, end: undefined, aborted: false }
    history.runs.set(run, entry)
    history.calls.get(token)?.runs.push(entry)
  },
  end(history, { run, t, yielded }) {
    const entry = history.runs.get(run)
    if (entry) Object.assign(entry, { end: entry.end ?? t, yielded })
  },
  abort(history, { run, t, yielded }) {
    const entry = history.runs.get(run)
    if (entry) Object.assign(entry, { end: entry.end ?? t, aborted: true, yielded })
  },
  lag({ lags }, { by, t, ms }) {
    if (!lags.has(by)) lags.set(by, [])
    lags.get(by).push({ from: t - ms * 1000, to: t })
  },
  stalled: ({ stalls }, { t, from, ms }) => stalls.push({ from, to: t, ms }),
  sample: ({ samples }, event) => samples.push(event),
  hello(history, { by, worker, slots }) {
    const process = processOf(history, by)
    if (worker) Object.assign(process, { slots }).workerIds.push(worker)
  },
  refused: (history, { by, message }) => (processOf(history, by).refused = message),
  'lease-lost'(history, { by, worker, now, t }) {
    processOf(history, by).workerIds.push(now)
    history.leaseLosses.push({ worker, by, at: t })
  },
  adopted: ({ adoptions }, { worker, by, t, count }) => adoptions.push({ worker, by, at: t, count }),
  up: (history, { by, t, role }) => processOf(history, by).ups.push({ at: t, role }),
  kill: (history, { name, t }) => (processOf(history, name).killedAt = t),
  signal: (history, { name, t, signal }) => processOf(history, name).signals.push({ at: t, signal }),
  exit: (history, { name, t, code, signal }) => Object.assign(processOf(history, name), { exitedAt: t, code, signal }),
  left: (history, { by, resources }) => (processOf(history, by).resources = resources),
}
