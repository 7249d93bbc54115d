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
const matcher = (patterns: readonly string[]): ((text: string) => boolean) => {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  const expressions = patterns.map(pattern => new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`, 's'))
  return text => expressions.some(expression => expression.test(text))
}

type Fits = (identity: Identity) => boolean

const fitsOf = (who: readonly string[]): Fits => {
  const of = (kind: string) => matcher(who.filter(each => each.startsWith(kind)).map(each => each.slice(kind.length)))
  const [user, group] = [of('user:'), of('group:')]
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
  /** Of these rules: what was decided by others is not theirs. */
  readonly digestible: string

  constructor(runTasks: readonly string[], { roles: ofRoles = {}, tasks }: AccessRules = {}) {
    const mayRun = matcher(runTasks)
    this.digestible = JSON.stringify([ofRoles, tasks ?? null])
    this.#roles = [...roles].reverse().map(role => {
      const of = (kind: string) =>
        matcher((ofRoles[role] ?? []).filter(who => who.startsWith(kind)).map(who => who.slice(kind.length)))
      return { role, user: of('user:'), group: of('group:') }
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
  new Refusal(403, 'Forbidden', `${task.slice(0, 200)} is not among the tasks that may be run here.`)
