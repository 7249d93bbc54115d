import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { firstFiles } from './first-files.ts'
import { jsonOption } from './options.ts'

/** Whether it was written: what is there, be it a link, is somebody's. */
const writeNew = (path: string, text: string): boolean => {
  try {
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const run = async ({ flags, output, host }: Invocation): Promise<number> => {
  const written: string[] = []
  const left: string[] = []
  for (const [name, text] of Object.entries(firstFiles))
    (writeNew(resolve(host.cwd, name), text) ? written : left).push(name)
  if (flags.json !== undefined) {
    output.json({ written, left })
    return exitCodes.ok
  }
  if (written.length > 0) output.out.line(`Written: ${written.join(', ')}`)
  if (left.length > 0) output.out.line(`Left alone, because it was there: ${left.join(', ')}`)
  output.out.line('Next: npx pshub dev tasks.mjs')
  return exitCodes.ok
}

export const initCommand: Command = {
  name: 'init',
  usage: 'init',
  summary: 'write a first task, its test, and what they need',
  about: [
    'Writes into this folder tasks.mjs with a task, tasks.test.mjs with its test, tsconfig.json, which checks their types, README.md, which says ' +
      'what to type, and package.json. What is there already is left alone, and named.',
  ],
  arity: { min: 0, max: 0 },
  options: [jsonOption],
  examples: [{ line: 'pshub init && pshub dev tasks.mjs', about: 'from an empty folder to a form in the browser' }],
  exitCodes: { 0: 'each file is there, now or already', 1: 'one could not be written', 2: 'the command line is wrong' },
  run,
}
