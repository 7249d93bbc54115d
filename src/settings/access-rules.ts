import { readFileSync } from 'node:fs'
import type { Kind } from './kinds.ts'

/**
 * Access rules of the registry: roles for users of a proxy or a provider, and tasks for everybody. A `who` is
 * `user:<name>`, `group:<name>`, `role:<role>`, `token:<role>` (whoever logged in with that token), or `*` for
 * everybody. In names of users, groups and tasks `*` stands for any characters.
 */
export interface AccessRules {
  /** Users and groups of each role. The highest matching role applies; without a match, access is denied. */
  roles?: { view?: readonly string[]; run?: readonly string[]; admin?: readonly string[] }
  /**
   * Which tasks may be seen and run, and by whom. The first matching rule applies; without a match, no task is visible.
   * Default: everybody sees all tasks.
   */
  tasks?: readonly TaskRule[]
}

/** Tasks that somebody may see, and those that they may run. */
export interface TaskRule {
  who: readonly string[]
  /** All other tasks are hidden from them: in lists, searches, figures and documents. */
  see: readonly string[]
  /** Of the visible tasks. Default: all. Roles and `runTasks` apply as well. */
  run?: readonly string[]
}

const roles = ['view', 'run', 'admin']
const named = /^(user|group):[^\p{Cc}]{1,256}$/u
const anyone = /^(\*|(user|group):[^\p{Cc}]{1,256}|(role|token):(view|run|admin))$/u
/** Names of tasks, in which * stands for any characters. */
export const taskPattern = /^[A-Za-z0-9_./:*-]{1,120}$/
const maxEntries = 1000

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is wrong with a list of texts, each of which has to fit. */
const wrongList = (place: string, value: unknown, fits: RegExp, like: string): string | undefined => {
  if (!Array.isArray(value) || value.length > maxEntries) return `must have a list in ${place}, like ${like}`
  const at = value.findIndex(entry => typeof entry !== 'string' || !fits.test(entry))
  return at < 0 ? undefined : `has in ${place}[${at}] ${JSON.stringify(value[at])}, which is not like ${like}`
}

const wrongMembers = (place: string, value: Record<string, unknown>, known: string[]): string | undefined => {
  const other = Object.keys(value).find(name => !known.includes(name))
  return other === undefined
    ? undefined
    : `knows no ${JSON.stringify(other.slice(0, 80))} in ${place}, only ${known.join(', ')}`
}

const wrongRoles = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (!isRecord(value)) return 'must have an object in roles, like {"admin": ["group:ops"]}'
  const like = '["user:ann@example.com", "group:ops"]'
  return (
    wrongMembers('roles', value, roles) ??
    Object.entries(value)
      .map(([role, who]) => wrongList(`roles.${role}`, who, named, like))
      .find(Boolean)
  )
}

const wrongRule = (value: unknown, at: number): string | undefined => {
  const place = `tasks[${at}]`
  if (!isRecord(value)) return `must have an object in ${place}, like {"who": ["group:mail"], "see": ["mail/*"]}`
  const { who, see, run } = value
  return (
    wrongMembers(place, value, ['who', 'see', 'run']) ??
    wrongList(`${place}.who`, who, anyone, '["user:ann", "group:ops", "role:view", "token:run", "*"]') ??
    wrongList(`${place}.see`, see, taskPattern, '["mail/*", "add:1.0"]') ??
    (run === undefined ? undefined : wrongList(`${place}.run`, run, taskPattern, '["mail/*", "add:1.0"]'))
  )
}

const wrongTasks = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length > maxEntries) return 'must have a list of rules in tasks'
  return value.map(wrongRule).find(Boolean)
}

/** A file that could not be read: why. */
class Unread {
  readonly why: string
  constructor(why: string) {
    this.why = why
  }
}

/** In code and in the settings file the rules; as a flag or a variable the path of a JSON file that has them. */
export const accessRules: Kind = {
  parse: path => {
    try {
      return JSON.parse(readFileSync(path, 'utf8'))
    } catch (error) {
      return new Unread((error as Error).message.slice(0, 200))
    }
  },
  check: value => {
    if (value instanceof Unread) return `must be the path of a JSON file with rules; it cannot be read: ${value.why}`
    if (!isRecord(value)) return 'must be an object with roles and tasks'
    return wrongMembers('it', value, ['roles', 'tasks']) ?? wrongRoles(value.roles) ?? wrongTasks(value.tasks)
  },
}
