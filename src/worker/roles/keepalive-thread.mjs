// The thread of keepalive.ts. Plain JavaScript and one package, because it is loaded as it is, also from the sources.
//
// It looks at the memory that the main thread counts in. While that counts on, it has no connection to Redis. When the
// count stands still, the loop is blocked; then it notes the tasks to blame, and renews the leases until the count goes on,
// or for maxBlockedMs. A main thread whose loop runs is left alone, whatever its connection does: it knows better.
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { mainStack } from '../main-stack.mjs'

const { memory, places, tasks, leaseMs, maxBlockedMs, lines } = workerData
/** What makes a client; with a password that changes it comes later, and anew now and then. */
let { clientOf } = workerData
const numbers = new Int32Array(memory)

/** Each look wakes a processor: rarely while all is well, often once the count stands still. */
const lookMs = 250
const lookCloselyMs = 100
/** So much longer than a tick that it is no coincidence; short beside what is left of the shortest lease then. */
const blockedAfterMs = 500
/** From here on the main thread reports the stall, when it is over. */
const reportedAfterMs = 1000
/** From here on it is reported while it lasts. */
const stuckAfterMs = 2000
const renewEveryMs = 1000
const pauseMs = 500
/** An attempt that has no answer by then is dropped with its connection. */
const patienceMs = 1500
/** So late comes only the timer of a process that was stopped. */
const stoppedMs = 1000

/** By queue: whose leases may be renewed. One that was adopted or given up nobody can renew any more. */
const identities = new Map()
const learn = identity => identities.set(identity.queue, { ...identity, isLost: false })
workerData.identities.forEach(learn)
parentPort.on('message', told => {
  if (told.identity) learn(told.identity)
  else if (told.left) identities.delete(told.left)
  else clientOf = told.clientOf
})
const renewable = () => [...identities.values()].filter(({ isLost }) => !isLost)

let lookedAt = performance.now()
let tick = Atomics.load(numbers, places.ticks)
let tickedAt = lookedAt
let beats = Atomics.load(numbers, places.beats)
/** When the main thread last renewed the leases. That was before this thread was there, nobody knows how long. */
let beatAt = Number.NEGATIVE_INFINITY
let toldStuck = false
let toldGivenUp = false
let toldWhy = false
/** Where it is blocked, for the line that tells of it: undefined until that was asked for, null until it is known. */
let stack

/** The client's code, loaded ahead: what blocks a loop may well keep all processors busy, and then it takes too long. */
let Redis
import('ioredis').then(library => {
  Redis = library.Redis
})

/**
 * By the address of a server: its client, whether a renewal is under way on that, when it was tried last, and when one succeeded. On a Cluster the leases of
 * several queues are in several places.
 */
const servers = new Map()
const serverOf = address => {
  const name = address ? `${address.host}:${address.port}` : ''
  const never = Number.NEGATIVE_INFINITY
  if (!servers.has(name))
    servers.set(name, { address, client: undefined, isTrying: false, triedAt: never, renewedAt: never })
  return servers.get(name)
}
const renewableOf = server => renewable().filter(({ address }) => serverOf(address) === server)

const look = () => {
  const now = performance.now()
  // When this thread stood still as well, the process was stopped, and its loop is not to blame.
  if (now - lookedAt > stoppedMs) tickedAt += now - lookedAt
  lookedAt = now
  const count = Atomics.load(numbers, places.ticks)
  const goesOn = count !== tick
  if (goesOn) {
    tick = count
    tickedAt = now
    toldStuck = toldGivenUp = toldWhy = false
    stack = undefined
    disconnect()
  }
  const beatsNow = Atomics.load(numbers, places.beats)
  if (beatsNow !== beats) beatAt = now
  beats = beatsNow
  if (now - tickedAt >= blockedAfterMs) standIn(now, now - tickedAt)
  setTimeout(look, goesOn ? lookMs : lookCloselyMs)
}

const standIn = (now, blockedMs) => {
  blame()
  if (blockedMs >= reportedAfterMs) Atomics.store(numbers, places.seenAt, tick)
  if (blockedMs >= stuckAfterMs && !toldStuck) tellStuck(blockedMs)
  if (blockedMs <= maxBlockedMs) keepLease(now)
  else {
    if (!toldGivenUp) toldGivenUp = write(lines.givenUp, blockedMs)
    disconnect()
  }
}

const tellStuck = blockedMs => {
  if (stack === undefined && lines.stuck !== undefined) {
    stack = null
    mainStack().then(frames => {
      if (stack === null) stack = frames
    })
  } else if (stack !== null) toldStuck = write(lines.stuck, blockedMs, { stack })
}

const keepLease = now => {
  if (!clientOf || !Redis) return
  for (const server of new Set(renewable().map(({ address }) => serverOf(address)))) keepLeasesAt(server, now)
}

const keepLeasesAt = (server, now) => {
  // Half of the lease is time enough to connect, and spares most stalls a connection.
  if (now - Math.max(beatAt, server.renewedAt) < (server.client ? renewEveryMs : leaseMs / 2)) return
  if (server.isTrying && now - server.triedAt > patienceMs) failed(server, `no answer within ${patienceMs} ms`)
  if (server.isTrying || now - server.triedAt < pauseMs) return
  server.triedAt = now
  renew(server)
}

const renew = async server => {
  const isNew = !server.client
  server.client ??= new Redis({ ...clientOf, ...server.address })
  server.isTrying = true
  const mine = server.client
  let why
  try {
    if (isNew) {
      mine.on('error', error => {
        why = error
      })
      await mine.connect()
    }
    await Promise.all(
      renewableOf(server).map(async identity => {
        const [, held, , , , , , , askedBy] = await mine.fcall(...identity.renewal)
        if (askedBy) show(mine, identity, askedBy)
        if (held === 1) server.renewedAt = performance.now()
        else identity.isLost = true
      }),
    )
    if (renewableOf(server).length === 0) drop(server)
    else if (server.client === mine) server.isTrying = false
  } catch (error) {
    // Unless it was dropped on purpose.
    if (server.client === mine) failed(server, (why ?? error).message)
  }
}

/** Somebody asks what this worker is doing: no task can say it now. */
const show = async (mine, { worker, queue, slots, shown }, ticket) => {
  const blocked = {
    tasks: guilty().map(task => tasks[task]),
    ms: Math.round(performance.now() - tickedAt),
    stack: await mainStack(),
  }
  const text = JSON.stringify({ worker, queue, pid: process.pid, slots, atMs: Date.now(), blocked })
  const key = shown.key.replace('<ticket>', ticket)
  await Promise.all([mine.rpush(key, text), mine.pexpire(key, shown.forMs)]).catch(() => undefined)
}

const failed = (server, reason) => {
  drop(server)
  if (toldWhy) return
  toldWhy = true
  parentPort.postMessage(`The lease could not be renewed while the event loop was blocked: ${reason}`)
}

/** The tasks whose handlers are running; the one alone that is on the stack, if there is one. */
const guilty = () => {
  const entered = Atomics.load(numbers, places.entered)
  if (entered > 0) return [entered - 1]
  return [...tasks.keys()].filter(task => Atomics.load(numbers, places.running + task) > 0)
}

const blame = () => {
  for (const task of guilty()) numbers[places.running + tasks.length + task] = tick
}

/** The stream as well: disconnecting half-closes it, and a half-open peer never answers that. */
const drop = server => {
  server.client?.disconnect()
  server.client?.stream?.destroy()
  server.client = undefined
  server.isTrying = false
}

const disconnect = () => {
  for (const server of servers.values()) drop(server)
}

/** Not by process.stderr, which goes through the blocked loop. False when it could not be written: stderr is full. */
const write = (line, blockedMs, more = {}) => {
  if (line === undefined) return true
  const [{ worker, queue } = {}] = identities.values()
  const names = guilty().map(task => tasks[task])
  const fields = { time: Date.now(), worker, queue, tasks: names, ms: Math.round(blockedMs), ...more }
  try {
    writeSync(2, `${line},${JSON.stringify(fields).slice(1)}\n`)
    return true
  } catch {
    return false
  }
}

look()
