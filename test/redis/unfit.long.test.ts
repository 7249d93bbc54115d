import { describe, expect, it } from 'vitest'
import { isDispensable, isOfClusters, type Role, roles, usesOf } from '../../src/redis/rights.ts'
import { missingRights } from '../../src/redis/rights-check.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRights } from '../support/acl-users.ts'
import { useRedis } from '../support/hub-fixture.ts'

/** What a worker does where it may not, or should not, serve. */
const server = useRedis()
const rights = useRights(server)

/** Asks as a user of these rules. */
const asking = async (rules: string) => {
  const client = server.redis.duplicate({ ...(await login(rules)), enableReadyCheck: false, disableClientInfo: true })
  server.onEnd(() => client.disconnect())
  return client
}
const login = async (rules: string) => {
  await rights.user('app', rules)
  return { username: 'app', password: 'secret' }
}

const asksByItself = (role: Role) => role === 'view' || role === 'admin' || role === 'registry'

describe('the look at rights', () => {
  it.each(roles)('names each command that a %s lacks, and the rule that grants it', async role => {
    const client = await asking('~* +@all')
    const keys = makeKeys(server.namespace)
    const ofRole = usesOf(role, keys, '*', '*')
    for (const command of new Set(ofRole.flatMap(({ commands }) => commands))) {
      // These are asked by their own commands, of which the name of a connection is none.
      if (asksByItself(role) && command === 'CLIENT|SETNAME') continue
      await rights.user('app', `${rights.rules(role)} -${command.toLowerCase()}`)
      const missing = await missingRights(client, role, keys, 'q')
      if (isOfClusters({ command, key: undefined })) {
        // This server is none: nobody needs it here.
        expect(missing, command).toBeUndefined()
        continue
      }
      expect(missing?.what, command).toContain(command)
      const uses = ofRole.filter(({ commands }) => commands.includes(command))
      expect(missing?.isNeeded, command).toBe(uses.some(({ key }) => !isDispensable({ command, key }, keys)))
      await server.redis.call('ACL', ...missing!.grant.split(' ').slice(1))
      expect(await missingRights(client, role, keys, 'q'), command).toBeUndefined()
    }
    await rights.denied()
  })

  it.each(roles)('names each key that a %s lacks', async role => {
    const client = await asking('~* +@all')
    const keys = makeKeys(server.namespace)
    const rules = rights.rules(role).split(' ')
    for (const pattern of rules.filter(rule => rule.includes('~'))) {
      await rights.user('app', rules.filter(rule => rule !== pattern).join(' '))
      const missing = await missingRights(client, role, keys, 'q')
      const key = pattern.replace(/^(%R)?~/, '').replace(/^(\w+):\{\*\}:/, '$1:{q}:')
      if (isOfClusters({ command: 'any', key })) {
        expect(missing, pattern).toBeUndefined()
        continue
      }
      const isNeeded = !isDispensable({ command: 'any', key }, keys)
      expect(missing, pattern).toMatchObject({ isNeeded, what: expect.stringContaining(` on ${key}`) })
    }
    await rights.denied()
  })
})
