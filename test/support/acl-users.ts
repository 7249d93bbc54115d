import { type Role, roles, rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import type { Fixture } from './hub-fixture.ts'

/** Redis users with the rights of a role in the test's own namespace, and no others. Gone at the end of the test. */
export const useRights = (fixture: Fixture) => {
  const set = async (user: string, rules: string): Promise<string> => {
    await fixture.redis.call('ACL', 'SETUSER', user, 'reset', 'on', '>secret', ...rules.split(' '))
    fixture.onEnd(() => fixture.redis.call('ACL', 'DELUSER', user))
    return fixture.url.replace('//', `//${user}:secret@`)
  }
  const rules = (role: Role, queue?: string) => rulesOf(role, makeKeys(fixture.namespace), queue)
  return {
    rules,
    /** Makes a user of these rules; returns its URL. */
    user: set,
    /** Makes one user per role, with what PROTOCOL.md lists; returns their URLs. */
    users: async (queue?: string) => {
      const urls = {} as Record<Role, string>
      // Who looks looks at all queues.
      const isLooking = (role: Role) => role === 'view' || role === 'admin'
      for (const role of roles) urls[role] = await set(role, rules(role, isLooking(role) ? undefined : queue))
      return urls
    },
    /** What Redis denied anybody since the last look: user and command. */
    denied: async () => {
      const log = (await fixture.redis.call('ACL', 'LOG')) as string[][]
      await fixture.redis.call('ACL', 'LOG', 'RESET')
      const field = (entry: string[], name: string) => entry[entry.indexOf(name) + 1]
      return log.map(entry => `${field(entry, 'username')} ${field(entry, 'reason')} ${field(entry, 'object')}`)
    },
  }
}
