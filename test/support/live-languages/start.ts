import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../../../tools/prepare.mjs'
import { pythonEnv } from '../../../tools/python-env.mjs'
import { rubyEnv } from '../../../tools/ruby-env.mjs'
import type { Fixture } from '../hub-fixture.ts'

const programs = { python: ['worker.py', pythonEnv], ruby: ['worker.rb', rubyEnv] } as const

export type OtherLanguage = keyof typeof programs

/** Starts a worker of another language for the queue of its name, or another one. It ends with the test. */
export const startLiveWorker = async (
  fixture: Fixture,
  language: OtherLanguage,
  given: { tasks: Record<string, unknown>; zones?: boolean; queue?: string },
): Promise<void> => {
  const [file, find] = programs[language]
  const { queue = language, ...line } = given
  const child = spawn(find(), [join(import.meta.dirname, file)], {
    env: {
      ...process.env,
      PYTHONPATH: join(root, 'clients/python/src'),
      PSHUB_REDIS: fixture.url,
      PSHUB_NAMESPACE: fixture.namespace,
      PSHUB_QUEUE: queue,
    },
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    log = `${log}${text}`.slice(-2000)
  })
  const ended = once(child, 'exit')
  fixture.onEnd(async () => {
    child.stdin.end()
    await ended
  })
  child.stdin.write(`${JSON.stringify(line)}\n`)
  const [said] = await Promise.race([once(child.stdout, 'data'), ended.then(() => ['nothing'])])
  if (!String(said).startsWith('ready')) throw new Error(`the worker in ${language} ended before it was ready: ${log}`)
}
