// What the caller of clients/CONFORMANCE.md does with jobs.

/** Options travel in the names of other languages. */
const camel = name => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
const camelKeys = options => Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), value]))
const optionsOf = ({ unique, ...options } = {}) => ({
  ...camelKeys(options),
  ...(unique === undefined ? {} : { unique: typeof unique === 'object' ? camelKeys(unique) : unique }),
})
const entryOf = ({ task, args, options }) => [task, JSON.parse(args), optionsOf(options)]

const shownJob = ({ id, queue, task, isTwin }) => ({ job: id, queue, task, twin: isTwin })
const shownStatus = ({ state, tries, error }) => ({ state, tries, code: error?.code })

const orders = {
  enqueue: async (hub, order) => shownJob(await hub.enqueue(...entryOf(order))),
  async chain(hub, { entries }) {
    const { id, steps } = await hub.chain(entries.map(entryOf))
    return { job: id, jobs: steps.map(step => step.id) }
  },
  async batch(hub, order) {
    const { then, failed } = order
    const options = { ...(then && { then: entryOf(then) }), ...(failed && { failed: entryOf(failed) }) }
    const batch = await hub.batch(order.entries.map(entryOf), options)
    return { jobs: batch.ids, after: batch.after?.id, failed: batch.failed?.id }
  },
  status: async (hub, { job, queue }) => shownStatus(await (await hub.job(job, { queue })).status()),
  async result(hub, { job, queue, timeout_ms: timeoutMs }) {
    return { result: JSON.stringify(await (await hub.job(job, { queue })).result({ timeoutMs })) }
  },
  cancel: async (hub, { job, queue }) => ({ cancelled: await (await hub.job(job, { queue })).cancel() }),
  async key(hub, { task, key, queue }) {
    const { queue: place, state, waiting } = await (await hub.key(task, key, { queue })).status()
    return { queue: place, state, waiting }
  },
  async dead(hub, { queue }) {
    const dead = await hub.dead(queue).list()
    return {
      dead: dead.map(({ id, task, args, tries, errors, following }) => {
        return { job: id, task, args: JSON.stringify(args), tries, codes: errors.map(({ code }) => code), following }
      }),
    }
  },
  async retry(hub, { queue, ids, args }) {
    return { count: await hub.dead(queue).retry({ ids }, args === undefined ? {} : { args: JSON.parse(args) }) }
  },
  async schedule(hub, { name, times, ...entry }) {
    const [task, args, options] = entryOf(entry)
    return { next_ms: (await hub.schedule(name, times, task, args, options)).nextMs }
  },
  async schedules(hub, { queue }) {
    return {
      schedules: (await hub.schedules(queue).list()).map(({ name, cron, nextMs }) => ({ name, cron, next_ms: nextMs })),
    }
  },
  unschedule: async (hub, { queue, name }) => ({ removed: await hub.schedules(queue).remove(name) }),
}

/** Never rejects. */
export const doJobs = async (hub, order) => {
  try {
    return { ok: true, ...(await orders[order.do](hub, order)) }
  } catch (error) {
    const { code, ran, retryable, status, message, data } = error
    return { ok: false, error: { code, ran, retryable, status, message, data } }
  }
}
