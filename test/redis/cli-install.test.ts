import { describe, expect, it } from 'vitest'
import { functionOf, libraryRevision } from '../../src/redis/library.ts'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli
const user = (rules: string) => cli.redis.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...rules.split(' '))
const flush = () => cli.redis.function('FLUSH')

describe('pshub install', () => {
  it('loads the library, and says what is there', async () => {
    await flush()
    const first = await run(['install'])
    expect(first).toMatchObject({
      code: 0,
      out: expect.stringMatching(new RegExp(`^redis://\\S+ has pshub_1 now, revision ${libraryRevision}\\.\n$`)),
    })
    const again = await run(['install', '--json'])
    expect(JSON.parse(again.out)).toMatchObject({ library: 'pshub_1', revision: libraryRevision, isNew: false })
    expect((await run(['install'])).out).toMatch(new RegExp(`had pshub_1 already, revision ${libraryRevision}\\.\n$`))
  })

  it('refuses in one line, with a code of its own, what it may not do', async () => {
    await flush()
    await user('~* +fcall +info +client')
    const redis = cli.url.replace('//', '//app:secret@')
    const denied = await run(['install', '--redis', redis])
    expect(denied).toMatchObject({ code: 1, out: '' })
    expect(denied.err).toMatch(/^.*The library was not loaded into .*: the Redis user lacks a right.*\n$/)
    await user(rulesOf('install', makeKeys(cli.namespace)))
    expect((await run(['install', '--redis', redis])).code).toBe(0)
    expect(await cli.redis.call('FCALL', functionOf('revision'), 0)).toBe(libraryRevision)
    await cli.redis.call('ACL', 'DELUSER', 'app')
  })
})
