import { computed, signal } from '@preact/signals'
import { type Role, roles, type Session } from '../../contract.ts'

/** Who looks, and at what; undefined until the service said it, and after it asked for a token. */
export const session = signal<Session | undefined>(undefined)

/** `unknown` at first; `out`: the service asks who it is; `refused`: it knows, and lets nobody in; `away`: it cannot be asked. */
export const access = signal<'unknown' | 'in' | 'out' | 'refused' | 'away'>('unknown')
/** Why, where it is refused. */
export const refusedWhy = signal('')

/** Whether who looks may do what needs this role, with the reason why not. */
export const refusal = (needed: Role): string | undefined => {
  const { value } = session
  if (!value) return 'You are not logged in.'
  if (value.readOnly && needed !== 'view') return 'This registry is read-only.'
  if (roles.indexOf(value.role) >= roles.indexOf(needed)) return undefined
  return `This needs the role ${needed}; yours is ${value.role}.`
}

export const namespace = computed(() => session.value?.namespace)
export const environment = computed(() => session.value?.environment)
