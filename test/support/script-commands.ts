import { readdirSync } from 'node:fs'
import type { Role } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { read, root } from './protocol-document.ts'

/** Who runs which script. */
const callers = ['push', 'cancel']

export interface ScriptCommand {
  script: string
  command: string
  /** As usesOf names it for '<queue>' and '<id>'; undefined for a command without a key. */
  key: string | undefined
}

/** What the Lua scripts run, by the role that runs them: read from their source. */
export const commandsOfScripts = (): Map<Role, ScriptCommand[]> => {
  const byRole = new Map<Role, ScriptCommand[]>([
    ['hub', []],
    ['worker', []],
  ])
  for (const file of readdirSync(new URL('src/queue/lua/', root))) {
    const script = file.replace('.lua', '')
    byRole.get(callers.includes(script) ? 'hub' : 'worker')!.push(...commandsOf(script, read(`src/queue/lua/${file}`)))
  }
  return byRole
}

const commandsOf = (script: string, text: string): ScriptCommand[] => {
  const shapes = new Map([...text.matchAll(/^-- KEYS\[(\d)\] +\w+ +(\S.*)$/gm)].map(([, at, shape]) => [at!, shape!]))
  // The first argument may choose between two commands.
  const runs = [...text.matchAll(/redis\.p?call\(([^,)]*)(?:, (?:KEYS\[(\d)\]|(list)\b))?/g)]
  return runs.flatMap(([, chosen, at, list]) => {
    const keys = list ? listsTaken(text) : [at]
    return keys.flatMap(at => {
      const key = at === undefined ? undefined : shapes.get(at)!.replace(/<(hub|[\w ]*worker)>/, '<id>')
      return [...chosen!.matchAll(/'([A-Z]+)'/g)].map(([, command]) => ({ script, command: command!, key }))
    })
  })
}

/** The keys that a function gets as its `list`. */
const listsTaken = (text: string): string[] => {
  const [, name] = /local function (\w+)\(list\b/.exec(text)!
  return [...text.matchAll(new RegExp(`${name}\\(KEYS\\[(\\d)\\]`, 'g'))].map(([, at]) => at!)
}

/** A key of a namespace as the shape that `commandsOfScripts` uses. */
export const shapeOf = (key: string, namespace: string): string =>
  key
    .replace(`${namespace}:`, 'pshub:')
    .replace(/:\{[^}]*\}:(?!read)/, ':{<queue>}:')
    .replace(/reply:\{[^}]*\}/, makeKeys('pshub').reply('<id>').replace('pshub:', ''))
    .replace(/(held|pushed):.*/, '$1:<id>')
