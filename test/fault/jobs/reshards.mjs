// The number of shards of both queues, changed up and down while their jobs run.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const mostShards = 5
/**
 * A hub here asks where a queue lies every two seconds and gives up to send after five, so this does where `pshub shards` waits for half a
 * minute: else there would be one change in a run.
 */
const quietMs = 9000
/** So often who changes it is killed before it has seen that to its end. */
const killedShare = 0.4

/**
 * Each queue is changed by itself, `everyMs` after the change before was done; what a killed process has left is gone on with first.
 * @param stage see stage.mjs @param random 0 to 1
 */
export const makeReshards = ({ stage, random, everyMs, dist }) => {
  const path = join(import.meta.dirname, 'reshard-process.mjs')
  const counts = { done: 0, killed: 0, failed: 0 }
  const ending = new AbortController()
  const children = new Set()

  /** Whether it saw the change to its end. */
  const changeOnce = async (queue, count, killAfterMs) => {
    const setup = { redis: stage.url, journal: stage.journal, queue, count, quietMs, dist }
    const child = spawn(process.execPath, [path], {
      env: { ...process.env, PSHUB_RESHARD_SETUP: JSON.stringify(setup) },
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    children.add(child)
    const killing = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
    const [code, signal] = await new Promise(resolve => child.once('exit', (...how) => resolve(how)))
    children.delete(child)
    clearTimeout(killing)
    if (signal) counts.killed++
    else if (code !== 0) counts.failed++
    return code === 0
  }

  /** Redis may be away, or forget a step: then it is begun again. */
  const change = async (queue, count) => {
    const isKilled = () => !ending.signal.aborted && random() < killedShare
    while (!(await changeOnce(queue, count, isKilled() ? 200 + random() * 4000 : undefined))) await sleep(200)
    counts.done++
  }

  const changeAgainAndAgain = async queue => {
    for (let count = 1; ; ) {
      await sleep(everyMs * (0.5 + random()), undefined, { signal: ending.signal }).catch(() => undefined)
      if (ending.signal.aborted) return
      count = 1 + ((count + Math.floor(random() * (mostShards - 1))) % mostShards)
      await change(queue, count)
    }
  }
  const both = Promise.all(['q', 'r'].map(changeAgainAndAgain))

  return {
    counts,
    /** Resolves when what was begun has come to its end: nothing is left where it was before. */
    async end() {
      ending.abort()
      await both
    },
    /** Nobody waits for it any more. */
    kill() {
      ending.abort()
      for (const child of children) child.kill('SIGKILL')
    },
  }
}
