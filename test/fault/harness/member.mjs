// One process of a trial as the stage sees it.
import { fork, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname

/**
 * Starts a caller or worker process.
 * @param {'caller' | 'worker'} kind
 * @param setup what process.mjs reads
 * @param options `command`, with its `folder`: a worker in another language. It reads the same setup, writes the same journal,
 *   takes no orders but signals, and ends with its stdin
 */
export const startMember = (kind, setup, { execArgv = [], env = {}, command } = {}) => {
  const log = openSync(join(setup.folder, `${setup.name}.log`), 'a')
  const setting = { ...process.env, ...env, PSHUB_FAULT_SETUP: JSON.stringify(setup) }
  const child = command
    ? spawn(command.faultWorker[0], command.faultWorker.slice(1), {
        cwd: command.folder,
        env: setting,
        stdio: ['pipe', log, log],
      })
    : fork(join(folder, `${kind}-process.mjs`), { execArgv, env: setting, stdio: ['ignore', log, log, 'ipc'] })
  closeSync(log)
  const waiting = new Map()
  let orders = 0
  let isGone = false
  child.on('message', ({ id, output }) => {
    waiting.get(id)?.(output)
    waiting.delete(id)
  })
  child.on('error', error => {
    // A process that never was has no exit; everybody would wait for it.
    if (child.pid === undefined) throw error
  })
  const exited = new Promise(resolve =>
    child.once('exit', (code, signal) => {
      isGone = true
      for (const answer of waiting.values()) answer(undefined)
      resolve({ code, signal })
    }),
  )
  return {
    kind,
    name: setup.name,
    pid: child.pid,
    exited,
    get isGone() {
      return isGone
    },
    signal: name => child.kill(name),
    /** Resolves with the answer, or with undefined when the process ends before. */
    order: (order, input) =>
      new Promise(resolve => {
        if (isGone || !child.connected) return resolve(undefined)
        waiting.set(++orders, resolve)
        child.send({ id: orders, order, input }, error => error && resolve(undefined))
      }),
  }
}
