import { makeKeys } from '../wire/keys.ts'
import { command, near } from './client.ts'
import type { Redis } from './connection.ts'
import { isRefusal } from './failures.ts'
import { luaSource } from './library-sources.ts'
import { probesOf, type Role, roles } from './rights.ts'

/**
 * All that is done in one step in Redis, as a library of Redis Functions. A client needs its names alone; whoever has the right
 * loads it where it is missing or older. Redis keeps it like data: on disk and on replicas.
 */

/** With the protocol's version: the libraries of two versions live side by side. */
export const libraryName = 'pshub_1'

/** Grows with each change of the library that is published; a higher one replaces a lower one, never the other way round. */
export const libraryRevision = 7

/** The functions, each of the file of that name in queue/lua. */
export const operations = [
  'push',
  'claim',
  'reply',
  'beat',
  'beats',
  'handback',
  'leave',
  'adopt',
  'cancel',
  'enqueue',
  'due',
  'settle',
  'forward',
  'batch',
  'withdraw',
  'await',
  'revive',
  'shard',
  'key',
  'schedule',
  'tick',
  'lock',
  'admit',
  'declare',
  'denied',
  'revision',
] as const
export type Operation = (typeof operations)[number]

export const functionOf = (operation: Operation): string => `${libraryName}_${operation}`

/**
 * Runs a function. Where it is missing, which means that nothing was run, the library is loaded first: somebody flushed this
 * Redis, or it is a new one, or a replica was promoted that had not heard of it.
 */
export const run = (
  client: Redis,
  operation: Operation,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> => {
  const call = () => command(client, 'fcall', functionOf(operation), keys.length, ...keys, ...args)
  return call().catch(error => runLoaded(keys[0] === undefined ? client : near(client, keys[0]), call, error))
}

/** The library may be gone once more before the function is called again. */
const tries = 5

const runLoaded = async (client: Redis, call: () => Promise<unknown>, first: Error): Promise<unknown> => {
  let error = first
  for (let attempt = 1; isMissing(error) && attempt < tries; attempt++) {
    const { refusal } = await install(client)
    // Who may not load it is told what is missing, and what to do about it; who could but for a full Redis, that.
    if (refusal) throw isDenied(refusal) ? error : refusal
    try {
      return await call()
    } catch (next) {
      error = next as Error
    }
  }
  throw error
}

export interface Installed {
  /** What is there now; undefined: nothing. */
  revision: number | undefined
  /** It does what this version of pshub needs. */
  isFit: boolean
  /** It was loaded just now. */
  isNew: boolean
  /** Why it could not be loaded, as Redis said it. */
  refusal: Error | undefined
}

/**
 * Sees to it that this Redis has the library, of this revision or a newer one.
 * @throws Error Redis' own, where that may pass by itself; one that lasts is `refusal`
 */
export const install = async (client: Redis): Promise<Installed> => {
  const present = await revisionOf(client)
  if (present !== undefined && present >= libraryRevision)
    return { revision: present, isFit: true, isNew: false, refusal: undefined }
  try {
    await command(client, 'function', 'load', ...(present === undefined ? [] : ['REPLACE']), libraryText())
  } catch (error) {
    // Somebody else was quicker.
    const isThere = /already exists/.test((error as Error).message)
    const refusal = isThere ? undefined : (error as Error)
    if (refusal && !isRefusal(refusal)) throw refusal
    if (refusal) return { revision: present, isFit: false, isNew: false, refusal }
  }
  // Asked again, and not taken for granted: a newer one may have come at the same moment, and an older one replaced it.
  const revision = await revisionOf(client)
  const isFit = revision !== undefined && revision >= libraryRevision
  return { revision, isFit, isNew: isFit, refusal: undefined }
}

/** Of the library in this Redis; undefined when there is none. */
const revisionOf = async (client: Redis): Promise<number | undefined> => {
  try {
    return Number(await command(client, 'fcall', functionOf('revision'), 0))
  } catch (error) {
    if (isMissing(error as Error)) return undefined
    throw error
  }
}

const isDenied = (error: Error): boolean => error.message.startsWith('NOPERM')
const isMissing = (error: Error): boolean => /^ERR Function not found/.test(error.message)

let text: string | undefined

/** The whole library, as it is loaded. */
export const libraryText = (): string => {
  text ??= libraryParts()
    .map(part => (part.endsWith('.lua') ? luaSource(part.slice(0, -'.lua'.length)) : part))
    .join('')
  return text
}

/**
 * What the library is made of: pieces of text, and names of files in queue/lua. Clients in other languages read the same list from
 * queue/lua/parts.json, because they are installed from a clone without Node.
 */
export const libraryParts = (): string[] => [
  `#!lua name=${libraryName}\n`,
  '-- pshub, the part of it that runs in Redis. Made of src/queue/lua; PROTOCOL.md says what each function does.\n',
  `local revision = ${libraryRevision}\n`,
  'local rights = {',
  ...Object.entries(rightsTable()).map(([role, probes], at) => `${at === 0 ? '' : ','}${role}=${luaOf(probes)}`),
  '}\n',
  ...shared.flatMap(name => [`${name}.lua`, '\n']),
  ...operations.flatMap(registered),
]

const shared = [
  'shared',
  'shared-jobs',
  'shared-keyed',
  'shared-merged',
  'shared-runs',
  'shared-arrivals',
  'shared-beat',
]

const registered = (operation: Operation, at: number): string[] => {
  const flags = /^-- flags: +(.+)$/m.exec(luaSource(operation))?.[1]
  const flagList = flags === undefined ? '' : `, flags = { '${flags.split(', ').join("', '")}' }`
  return [
    `redis.register_function{ function_name = '${functionOf(operation)}'${flagList}, callback = function(KEYS, ARGV)\n`,
    `${operation}.lua`,
    at < operations.length - 1 ? 'end }\n\n' : 'end }\n',
  ]
}

/** By role, the words of harmless commands that are to be asked about. */
const rightsTable = (): Record<string, string[][]> => {
  const keys = makeKeys('<namespace>')
  const wordsOf = (role: Role) => probesOf(role, keys, '<queue>').map(({ words }) => words)
  return Object.fromEntries(roles.map(role => [role, wordsOf(role)]))
}

const luaOf = (value: string | string[] | string[][]): string =>
  typeof value === 'string' ? JSON.stringify(value) : `{${value.map(luaOf).join(',')}}`
