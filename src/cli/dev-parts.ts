import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** The processes that `pshub dev` is made of, besides the one that was typed. */
export type PartName = 'redis' | 'worker'

/** What they tell it. */
export type PartMessage =
  | { kind: 'redis'; url: string; what: string }
  | { kind: 'failed'; message: string }
  | { kind: 'files'; files: string[] }
  | { kind: 'serving'; tasks: string[] }
  | { kind: 'stopping' }

/** What it tells them: finish what runs within so long, then end. */
export interface StopMessage {
  kind: 'stop'
  graceMs: number
}

const variable = 'PSHUB_DEV_PART'

/** Which of them this process is; undefined: it is the one that was typed. */
export const thisPart = (): PartName | undefined =>
  process.send === undefined ? undefined : (process.env[variable] as PartName | undefined)

export interface Part {
  readonly child: ChildProcess
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>
  stop(graceMs: number): void
  kill(): void
}

/**
 * Starts one: the same command line again. It is in a process group of its own, because Ctrl-C goes to all of a terminal's, and the order
 * of stopping is ours. It ends by itself when this process is gone, however that came: its channel closes then.
 */
export const startPart = (
  name: PartName,
  env: Record<string, string>,
  onMessage: (message: PartMessage) => void,
): Part => {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
    windowsHide: true,
    env: { ...process.env, ...env, [variable]: name },
  })
  child.on('message', onMessage)
  const kill = () => void child.kill('SIGKILL')
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  process.once('exit', kill)
  void ended.then(() => process.off('exit', kill))
  return {
    child,
    ended,
    kill,
    // One that has ended meanwhile cannot be told, and need not be.
    stop: graceMs => void child.send({ kind: 'stop', graceMs } satisfies StopMessage, () => undefined),
  }
}

/** For a part. Resolves when it was handed over. */
export const tellDev = (message: PartMessage): Promise<void> =>
  new Promise(resolve => {
    if (process.connected) process.send!(message, () => resolve())
    else resolve()
  })

/** For a part: acts once, when it is told to stop, or when nobody is there any more who could tell it. */
export const onStop = (graceMs: number, act: (graceMs: number) => void): void => {
  process.once('message', (message: StopMessage) => act(message.graceMs))
  process.once('disconnect', () => act(graceMs))
  // Only what it does itself keeps it alive.
  process.channel?.unref()
}
