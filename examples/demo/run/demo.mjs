// Puts the demo together: Redis, two workers of different domains, one more in Python where that is there, and the web server
// with the registry beside it, or one page on the terminal.
import { setTimeout as sleep } from 'node:timers/promises'
import { Hub } from 'pshub'
import { root } from '../../../tools/prepare.mjs'
import { cityCalls, gatherPage, moonTask, neededTasks, warmUp } from '../web/calls.mjs'
import { isUnknown } from '../web/parts.mjs'
import { Crew } from './crew.mjs'
import { prepareMoon } from './moon.mjs'
import { untilProvided } from './ready.mjs'
import { openRedis, shown } from './redis.mjs'
import { openRegistry } from './registry.mjs'
import { textPage } from './text-page.mjs'
import { welcome } from './welcome.mjs'

/** Long enough to look at a page with gaps before they close. */
const againMs = 20_000
const graceMs = 3000

/** The one page of --once has to be whole rather than quick, also on a machine that is busy. */
const oncePageTimeoutMs = 5000

/** What --once waits for the moon when all else is there; its interpreter starts within one second. */
const onceMoonPatienceMs = 5000

const worker = (name, module) => ({
  name,
  args: ['dist/cli/main.js', 'worker', module, '--queue', name, '--slots', '4', '--grace', '2s'],
})

const workers = [worker('places', 'examples/demo/places/tasks.mjs'), worker('sky', 'examples/demo/sky/tasks.mjs')]

/** One Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const samePressMs = 250

/** Resolves when a signal comes. A second Ctrl-C does not wait for anybody. */
const untilSignal = crew =>
  new Promise(resolve => {
    let firstAt
    const onSignal = () => {
      firstAt ??= performance.now()
      resolve()
      if (performance.now() - firstAt <= samePressMs) return
      crew.kill()
      process.exit(130)
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal)
  })

/** npm passes SIGTERM on to the shell it runs scripts in and no further: all that is seen here is a new parent. */
const untilNpmIsGone = () =>
  new Promise(resolve => {
    if (!process.env.npm_lifecycle_event) return
    const parent = process.ppid
    setInterval(() => process.ppid !== parent && resolve(), 250).unref()
  })

/** Until all is up, a process that ends is a failure of the whole; from then on it is started again. */
const makeCrew = redis => {
  let failStart
  const failed = new Promise((_, reject) => {
    failStart = reject
  })
  failed.catch(() => {})
  const crew = new Crew({
    cwd: root,
    env: { PSHUB_REDIS: redis.url, PSHUB_LOG_LEVEL: process.env.PSHUB_LOG_LEVEL ?? 'warn' },
    onEnd: (member, pid, how) => {
      if (!crew.isUp && !member.python)
        return failStart(new Error(`The ${member.name} process ended before the demo was up (${how}).`))
      console.log(`The ${member.name} process (pid ${pid}) ended (${how}). It is started again in ${againMs / 1000} s.`)
      crew.later(againMs, () => console.log(`The ${member.name} process is back, with pid ${crew.start(member)}.`))
    },
  })
  return { crew, failed }
}

const printOnce = async (hub, cityId) => {
  await warmUp(hub)
  const gathered = await gatherPage(hub, cityCalls(cityId), { timeoutMs: oncePageTimeoutMs })
  if (isUnknown(gathered.parts)) {
    console.error(`There is no city with the id ${cityId}.`)
    return 1
  }
  console.log(textPage(cityId, gathered))
  return gathered.timings.every(({ task, outcome }) => outcome === 'ok' || task === moonTask) ? 0 : 1
}

/** Starts the moon worker once its environment is there, and keeps what became of it for the welcome. */
const startMoon = (crew, preparation) => {
  const moon = {}
  moon.settled = preparation.found.then(({ member, reason }) => {
    if (crew.isLeaving) return
    moon.reason = reason
    if (member) moon.pid = crew.start(member)
    if (crew.isUp) console.log(reason ?? `The moon process is there, with pid ${moon.pid}.`)
  })
  return moon
}

const untilMoon = async (hub, moon) => {
  const isThere = moon.settled.then(() => !moon.reason && untilProvided(hub, [moonTask], onceMoonPatienceMs))
  await Promise.race([isThere, sleep(onceMoonPatienceMs)]).catch(() => {})
  if (moon.reason) console.error(moon.reason)
}

const startWeb = crew =>
  new Promise(resolve => {
    const web = { name: 'web', args: ['examples/demo/web/main.mjs'] }
    const pid = crew.start(web, ({ address, port }) => {
      // A web server that has to be started again comes back at the address that was printed.
      web.env = { PORT: String(port) }
      resolve({ pid, address })
    })
  })

const start = async (options, { redis, crew, hub, preparation, closing }) => {
  await hub.tasks().catch(error => {
    throw new Error(`${error.message} The address was ${shown(redis.url)}.`)
  })
  const pids = Object.fromEntries(workers.map(member => [member.name, crew.start(member)]))
  const moon = startMoon(crew, preparation)
  await untilProvided(hub, neededTasks)
  if (options.once) {
    await untilMoon(hub, moon)
    return printOnce(hub, options.cityId)
  }
  const { pid, address } = await startWeb(crew)
  const registry = await openRegistry(redis)
  closing.push(registry.close)
  crew.isUp = true
  console.log(welcome({ address, registry: registry.address, redis, pids: { ...pids, web: pid }, moon, againMs }))
  return undefined
}

/** @returns {Promise<number>} exit code */
const runWith = async (options, redis, hub) => {
  const { crew, failed } = makeCrew(redis)
  const preparation = prepareMoon({ mayMake: !options.once })
  const stopped = Promise.race([untilSignal(crew), untilNpmIsGone()])
  const closing = []
  try {
    const parts = { redis, crew, hub, preparation, closing }
    const code = await Promise.race([start(options, parts), failed, stopped])
    if (code !== undefined || !crew.isUp) return code ?? 0
    await stopped
    console.log('Stopping ...')
    return 0
  } finally {
    preparation.stop()
    for (const close of closing) await close()
    await crew.stop(graceMs)
  }
}

/**
 * @param {{ once: boolean, cityId: number }} options
 * @returns {Promise<number>} exit code
 */
export const runDemo = async options => {
  let redis
  let hub
  try {
    redis = await openRedis(process.env.PSHUB_REDIS)
    hub = new Hub({ redis: redis.url, name: 'demo', logLevel: 'error' })
    return await runWith(options, redis, hub)
  } catch (error) {
    console.error(error.message)
    return 1
  } finally {
    await hub?.close()
    await redis?.close()
  }
}
