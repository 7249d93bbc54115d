import type { AccessRules } from 'pshub'
import { type Role, roles } from '../contract.ts'
import { Refusal } from './refusal.ts'
import type { Identity, User } from './tokens.ts'

/** Which tasks somebody may see, and which of these they may run. The same object for all to whom the same rule applies. */
export interface Rights {
  /** Nothing is hidden from them. */
  readonly seesAll: boolean
  sees(task: string): boolean
  runs(task: string): boolean
}

/** `*` stands for any characters. A task is judged by the name it is called by: who may run mail:1.0 only may not run mail. */
export const matcher = (patterns: readonly string[]): ((text: string) => boolean) => {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  const expressions = patterns.map(pattern => new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`, 's'))
  return text => expressions.some(expression => expression.test(text))
}

/** What follows `user:` and the like. */
const namedIn = (who: readonly string[], kind: string): string[] =>
  who.filter(each => each.startsWith(kind)).map(each => each.slice(kind.length))

type Fits = (identity: Identity) => boolean

const fitsOf = (who: readonly string[]): Fits => {
  const [user, group] = [matcher(namedIn(who, 'user:')), matcher(namedIn(who, 'group:'))]
  return ({ role, user: own, tokenRole }) =>
    who.includes('*') ||
    who.includes(`role:${role}`) ||
    (tokenRole !== undefined && who.includes(`token:${tokenRole}`)) ||
    (own !== undefined && (user(own.name) || own.groups.some(group)))
}

/** What settings say of who may do what: one place, asked for each request. */
export class Rules {
  readonly #roles: readonly { role: Role; user: (name: string) => boolean; group: (name: string) => boolean }[]
  readonly #rules: readonly { fits: Fits; rights: Rights }[]
  readonly #otherwise: Rights
  readonly #namesGroup: (group: string) => boolean
  /** All of them, as a text. */
  readonly said: string

  constructor(runTasks: readonly string[], { roles: ofRoles = {}, tasks }: AccessRules = {}) {
    const mayRun = matcher(runTasks)
    this.said = JSON.stringify([ofRoles, tasks ?? null])
    const whos = [...Object.values(ofRoles).flat(), ...(tasks ?? []).flatMap(({ who }) => who)]
    this.#namesGroup = matcher(namedIn(whos, 'group:'))
    this.#roles = [...roles].reverse().map(role => {
      const who = ofRoles[role] ?? []
      return { role, user: matcher(namedIn(who, 'user:')), group: matcher(namedIn(who, 'group:')) }
    })
    this.#rules = (tasks ?? []).map(({ who, see, run }) => {
      const [sees, runs] = [matcher(see), matcher(run ?? see)]
      const rights: Rights = {
        seesAll: see.includes('*'),
        sees,
        runs: task => sees(task) && runs(task) && mayRun(task),
      }
      return { fits: fitsOf(who), rights }
    })
    // Where there are rules, whoever none of them fits has no task.
    this.#otherwise = tasks
      ? { seesAll: false, sees: () => false, runs: () => false }
      : { seesAll: true, sees: () => true, runs: mayRun }
  }

  /** Whether it matters that somebody is in it. */
  namesGroup(group: string): boolean {
    return this.#namesGroup(group)
  }

  of(identity: Identity): Rights {
    return this.#rules.find(({ fits }) => fits(identity))?.rights ?? this.#otherwise
  }

  /** The highest role that fits; undefined: none, and nobody gets in without. */
  roleOf({ name, groups }: User): Role | undefined {
    return this.#roles.find(({ user, group }) => user(name) || groups.some(group))?.role
  }
}

/** Said in the same words of a task that is hidden, that may not be run, and that there is not. */
export const notToBeRun = (task: string): Refusal =>
  new Refusal(403, 'Forbidden', `${task.slice(0, 200)} may not be run here.`)
