// Each process of a trial writes down what it sees, into a file of its own. Files and not Redis, so that no fault can
// hide what happened; written at once, so that a killed process has told all it knew.
import { existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Microseconds of a clock that all processes of this machine share and that never jumps. */
export const nowUs = () => Number(process.hrtime.bigint() / 1000n)

/** @returns a function that appends one event: `e` is its kind, `t` (when) is added */
export const openJournal = (folder, name) => {
  const file = openSync(join(folder, `${name}.jsonl`), 'a')
  return (e, fields = {}) => writeSync(file, `${JSON.stringify({ e, t: nowUs(), ...fields })}\n`)
}

const textOf = path => (existsSync(path) ? readFileSync(path, 'utf8') : '')

/** What one process wrote. A torn last line, of a process that was killed in the middle of it, is left out. */
export const readJournal = (folder, name) =>
  textOf(join(folder, `${name}.jsonl`))
    .split('\n')
    .slice(0, -1)
    .map(line => ({ by: name, ...JSON.parse(line) }))

/** All events of a trial in the order of time; `by` is the process that wrote it. */
export const readJournals = folder =>
  readdirSync(folder)
    .filter(name => name.endsWith('.jsonl'))
    .flatMap(name => readJournal(folder, name.slice(0, -'.jsonl'.length)))
    .sort((a, b) => a.t - b.t)
