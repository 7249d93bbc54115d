import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { firstFiles, firstManifest, firstPackages, type Language } from './first-files.ts'
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

/** Writes package.json, or adds to the one that npm made when pshub was installed. Whether it did. */
const writeManifest = (path: string, language: Language): boolean => {
  let present: string | undefined
  try {
    present = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const text = firstManifest(language, present)
  if (text !== undefined) writeFileSync(path, text)
  return text !== undefined
}

const run = async ({ flags, output, host }: Invocation): Promise<number> => {
  const language: Language = flags.js === undefined ? 'ts' : 'js'
  const written: string[] = []
  const left: string[] = []
  const note = (name: string, isWritten: boolean) => (isWritten ? written : left).push(name)
  const files = Object.entries(firstFiles(language))
  for (const [name, text] of files) note(name, writeNew(resolve(host.cwd, name), text))
  const isManifestWritten = writeManifest(resolve(host.cwd, 'package.json'), language)
  note('package.json', isManifestWritten)
  const next = [isManifestWritten ? 'npm install' : firstPackages(language), `npx pshub dev ${files[0]![0]}`]
  if (flags.json !== undefined) {
    output.json({ written, left, next })
    return exitCodes.ok
  }
  if (written.length > 0) output.out.line(`Written: ${written.join(', ')}`)
  if (left.length > 0) output.out.line(`Not changed, because it exists: ${left.join(', ')}`)
  output.out.line('Next:')
  for (const line of next) output.out.line(`  ${line}`)
  return exitCodes.ok
}

export const initCommand: Command = {
  name: 'init',
  usage: 'init [--js]',
  summary: 'write a first task, its test, and what they need',
  about: [
    'Writes tasks.ts with a task, tasks.test.ts with its test, tsconfig.json, README.md and package.json into this ' +
      'folder. Existing files are not changed, and are listed; a package.json that npm created when it installed pshub ' +
      'gets the scripts and packages that the task needs.',
    'The task is TypeScript with zod. Node 22.18 and newer run it directly, older versions through tsx.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'js', about: 'write JavaScript with a JSON Schema instead: tasks.mjs, tasks.test.mjs' },
    jsonOption,
  ],
  examples: [
    {
      line: 'pshub init && npm install && pshub dev tasks.ts',
      about: 'from an empty folder to a form in the browser',
    },
  ],
  exitCodes: { 0: 'all files exist', 1: 'a file could not be written', 2: 'the command line is wrong' },
  run,
}
