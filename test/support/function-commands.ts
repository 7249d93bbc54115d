import { type Operation, operations } from '../../src/redis/library.ts'
import type { Role } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { read } from './protocol-document.ts'

/** What callers run, and what is run for jobs; everything else is a worker's. */
const ofCallers: Partial<Record<Operation, Role>> = {
  push: 'hub',
  cancel: 'hub',
  enqueue: 'jobs',
  withdraw: 'jobs',
  await: 'jobs',
  revive: 'jobs',
  key: 'jobs',
  schedule: 'jobs',
  batch: 'jobs',
}

export interface FunctionCommand {
  operation: Operation
  command: string
  /** As usesOf names it for '<queue>' and '<id>'; undefined for a command without a key. */
  key: string | undefined
}

/**
 * What the functions of the library run on keys that they are given, by the role that runs them: read from their source. What they run on
 * keys that they find beside these is seen where they run.
 */
export const commandsOfFunctions = (): Map<Role, FunctionCommand[]> => {
  const byRole = new Map<Role, FunctionCommand[]>([
    ['hub', []],
    ['jobs', []],
    ['worker', []],
  ])
  for (const operation of operations)
    byRole.get(ofCallers[operation] ?? 'worker')!.push(...commandsOf(operation, read(`src/queue/lua/${operation}.lua`)))
  return byRole
}

const commandsOf = (operation: Operation, text: string): FunctionCommand[] => {
  const shapes = new Map([...text.matchAll(/^-- KEYS\[(\d)\] +\w+ +(\S.*)$/gm)].map(([, at, shape]) => [at!, shape!]))
  // ring() of shared.lua runs these two on the key that it is given.
  const source = text.replaceAll('ring(', "redis.call('LLEN' and 'RPUSH', ")
  // The first argument may choose between two commands.
  const runs = [...source.matchAll(/redis\.p?call\(([^,)]*)(?:, (?:KEYS\[(\d)\]|(list)\b|(\w)))?/g)]
  return runs.flatMap(([, chosen, at, list, found]) => {
    if (found !== undefined) return []
    const keys = list ? listsTaken(text) : [at]
    return keys.flatMap(at => {
      const key = at === undefined ? undefined : shapes.get(at)!.replace(/<(hub|job|name|[\w ]*worker)>/, '<id>')
      return [...chosen!.matchAll(/'([A-Z]+)'/g)].map(([, command]) => ({ operation, command: command!, key }))
    })
  })
}

/** The keys that a function gets as its `list`. */
const listsTaken = (text: string): string[] => {
  const [, name] = /local function (\w+)\(list\b/.exec(text) ?? []
  if (name === undefined) return []
  return [...text.matchAll(new RegExp(`${name}\\(KEYS\\[(\\d)\\]`, 'g'))].map(([, at]) => at!)
}

/** A key of a namespace as the shape that `commandsOfFunctions` uses. */
export const shapeOf = (key: string, namespace: string): string =>
  key
    .replace(`${namespace}:`, 'pshub:')
    .replace(/(lock|rate|told):\{[^}]*\}/, '$1:{<id>}')
    .replace(/:\{[^}]*\}:(?!read)/, ':{<queue>}:')
    .replace(/reply:\{[^}]*\}/, makeKeys('pshub').reply('<id>').replace('pshub:', ''))
    .replace(/(args|held|pushed|enqueued|job|came|batch|ended|inspect|shown|refused|taken|progress):.*/, '$1:<id>')
    .replace(/(line|merged):.*/, '$1:*:*')
    .replace(/(keys|running|tried|next):.*/, '$1:*')
    .replace(/unique:.*/, 'unique:*')
    .replace(/session:.*/, 'session:*')
    .replace(/chart:.*/, 'chart:*:*')
    .replace(/template:.*/, 'template:*:*')
