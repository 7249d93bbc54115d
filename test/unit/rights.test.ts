import type { Command, Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { bootCheck, findUnfit } from '../../src/redis/boot-check.ts'
import { functionOf, libraryRevision } from '../../src/redis/library.ts'
import { explained } from '../../src/redis/refusals.ts'
import { type Role, rulesOf, usesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { commandsOfFunctions } from '../support/function-commands.ts'

const keys = makeKeys('pshub')

describe('the rights of each role', () => {
  it('cover each command that a function runs, on its key', () => {
    for (const [role, used] of commandsOfFunctions()) {
      const granted = usesOf(role, keys, '<queue>', '<id>')
      for (const { operation, command, key } of used) {
        const use = granted.find(each => each.key === key)
        expect(use?.commands, `${operation}: ${command} ${key}, as ${role}`).toContain(command)
        if (key !== undefined) expect(use?.isGiven, `${key} is a key of ${operation}`).toBe(true)
      }
    }
  })

  it('name one queue where that is wanted', () => {
    expect(rulesOf('worker', keys, 'images')).toContain('~pshub:{images}:calls ')
    expect(rulesOf('worker', keys, 'images').replace('{*}:taken:', '')).not.toContain('{*}:')
  })
})

/** A server with the library that says this of itself, and lets its user do everything. */
const server = (info: string | Error, evaluate: () => unknown = () => []): Redis =>
  ({
    options: {},
    sendCommand: async ({ name, args }: Command) => {
      if (args[0] === functionOf('revision')) return libraryRevision
      if (name !== 'info') return evaluate()
      if (info instanceof Error) throw info
      return info
    },
  }) as unknown as Redis
const replyError = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })
const info = (fields: Record<string, string>) =>
  Object.entries({
    redis_version: '7.0.15',
    role: 'master',
    maxmemory_policy: 'noeviction',
    redis_mode: 'standalone',
    aof_enabled: '1',
    ...fields,
  })
    .map(field => field.join(':'))
    .join('\r\n')
const purpose = (role: Role) => ({ role, keys, queue: 'q' })

describe('the boot check', () => {
  it.each([
    [{}, undefined],
    [{ valkey_version: '8.0.1', redis_version: '7.2.4' }, undefined],
    [{ redis_version: '8.4.0' }, undefined],
    [{ redis_version: '6.2.14' }, 'Redis 6.2.14 is too old; 7.0 or newer is required'],
    [{ role: 'slave' }, 'this server is a slave, which refuses writes; connect to its master'],
    [{ maxmemory_policy: 'volatile-lru' }, expect.stringMatching(/^maxmemory-policy is volatile-lru: .*noeviction$/)],
    [{ redis_mode: 'cluster' }, undefined],
    [{ redis_mode: 'sentinel' }, 'this is a sentinel; use redis+sentinel://host:26379/name'],
  ])('judges %j', async (fields, unfit) => {
    expect(await findUnfit(server(info(fields)), [purpose('worker')])).toEqual(unfit === undefined ? [] : [unfit])
  })

  it.each([
    ['that says nothing', ''],
    ['that may not be asked', replyError("NOPERM this user has no permissions to run the 'info' command")],
  ])('warns of a server %s, and refuses nothing', async (_, said) => {
    const findings = await bootCheck(server(said), [purpose('worker')])
    expect(findings.map(({ what, level }) => [what, level])).toEqual([
      ['version', 'warning'],
      ['role', 'warning'],
      ['eviction', 'warning'],
      ['mode', 'ok'],
      ['persistence', 'warning'],
      ['library', 'ok'],
      ['worker rights', 'ok'],
    ])
  })

  it('warns where the server cannot tell what the user may do', async () => {
    const old = server(info({}), () => {
      throw replyError("ERR user_function:1: Script attempted to access nonexistent global variable 'acl_check_cmd'")
    })
    const rights = (await bootCheck(old, [purpose('hub')])).at(-1)
    expect(rights).toMatchObject({
      level: 'warning',
      message: expect.stringMatching(/is unknown whether .*call tasks/),
    })
  })

  it('does not take a connection that breaks for an answer', async () => {
    await expect(bootCheck(server(new Error('gone')), [])).rejects.toThrow('gone')
    const breaks = server(info({}), () => {
      throw new Error('gone')
    })
    await expect(bootCheck(breaks, [purpose('hub')])).rejects.toThrow('gone')
  })
})

describe('an error answer of Redis', () => {
  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', /correct them in the URL.*\(WRONGPASS [^.]*\)$/],
    [
      'NOAUTH HELLO must be called with the client already authenticated, otherwise\nmore',
      /put it into the URL.*cated\)$/,
    ],
    ["NOPERM this user has no permissions to run the 'fcall' command", /'pshub check' names it.*'fcall' command\)$/],
    ["ERR The user executing the script can't run this command or subcommand script: 5d, &c", /^the Redis user lacks/],
    ['ERR ACL failure in script: User app has no permissions to run the rpush command', /^the Redis user lacks/],
    ["READONLY You can't write against a read only replica. script: 5d, on @user_script:3.", /connect to its master/],
    ['All sentinels are unreachable. Last error: ERR No such master with that name', /^these sentinels know no master/],
    ['MOVED 3999 127.0.0.1:6381', /^a slot of the Cluster is moving/],
    ["OOM command not allowed when used memory > 'maxmemory'.", /^Redis is full \(OOM/],
    ['WRONGTYPE Operation against a key.\nmore', /^WRONGTYPE Operation against a key$/],
    ["ERR unknown command 'RPUSH', with args beginning with: 'k' '{\"secret\":1}'", /^ERR unknown command 'RPUSH'$/],
    ['connect ECONNREFUSED 127.0.0.1:6379', /^connect ECONNREFUSED 127\.0\.0\.1:6379$/],
  ])('is told with what to do about it: %j', (message, told) => {
    expect(explained(message)).toMatch(told)
    expect(explained(message)).not.toMatch(/\n|\.$/)
  })
})
