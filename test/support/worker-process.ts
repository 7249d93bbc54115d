import { type ChildProcess, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** A worker in a process of its own, as `pshub worker` starts it, with the tasks of test/support/process-tasks.mjs. */
export interface WorkerProcess {
  readonly pid: number
  /** Lines that its tasks wrote: what started and ended there. */
  readonly lines: string[]
  /** What it logged, as the objects that its lines on stderr are. */
  readonly log: Record<string, unknown>[]
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<number | null>
}

export const startWorkerProcess = async (
  redis: string,
  namespace: string,
  options: { queue?: string; slots?: number; args?: string[]; env?: Record<string, string> } = {},
): Promise<WorkerProcess> => {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      join(root, 'dist/cli/main.js'),
      'worker',
      join(root, 'test/support/process-tasks.mjs'),
      '--redis',
      redis,
      '--namespace',
      namespace,
      '--queue',
      options.queue ?? 'q',
      '--slots',
      String(options.slots ?? 4),
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...options.env } },
  )
  const lines: string[] = []
  const exited = new Promise<number | null>(done => child.once('exit', code => done(code)))
  child.stdout!.on('data', chunk => lines.push(...String(chunk).split('\n').filter(Boolean)))
  const log: Record<string, unknown>[] = []
  let rest = ''
  await new Promise<void>((ready, failed) => {
    child.stderr!.on('data', chunk => {
      const parts = `${rest}${chunk}`.split('\n')
      rest = parts.pop()!
      log.push(...parts.filter(line => line.startsWith('{')).map(line => JSON.parse(line)))
      if (log.some(({ msg }) => msg === 'worker started')) ready()
    })
    child.once('exit', () => failed(new Error(`the worker process ended:\n${JSON.stringify(log)}\n${rest}`)))
  })
  return { pid: child.pid!, lines, log, signal: name => child.kill(name), exited }
}
