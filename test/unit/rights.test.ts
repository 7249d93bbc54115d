import type { Command, Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { bootCheck, findUnfit } from '../../src/redis/boot-check.ts'
import { functionOf, libraryRevision } from '../../src/redis/library.ts'
import { explained } from '../../src/redis/refusals.ts'
import { type Role, roles, rulesOf, usesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { commandsOfFunctions } from '../support/function-commands.ts'
import { protocol, rowsOf, section, unquoted } from '../support/protocol-document.ts'

const keys = makeKeys('pshub')

/** As PROTOCOL.md names it. */
const documentedShape = (key: string) =>
  key
    .replace(/(held|inspect):<id>/, '$1:<worker>')
    .replace('shown:<id>', 'shown:<ticket>')
    .replace(/(:args:)<id>/, '$1{id}')
    .replace(/(job|came|progress):<id>/, '$1:<job>')
    .replace(/(batch|ended):<id>/, '$1:<batch>')
    .replace('unique:*', 'unique:<text>')
    .replace('session:*', 'session:<digest>')
    .replace('chart:*:*', 'chart:<step>:<number>')
    .replace('template:*:*', 'template:<task>:<place>')
    .replace(/(line|merged):\*:\*/, '$1:<task>:<key>')
    .replace(/(keys|running|tried|next):\*/, '$1:<task>')
    .replace(/(lock|rate|told):{<id>}/, '$1:{<name>}')
    .replace('<id>', '<hub>')
    .replace('{id}', '<id>')

describe('the rights of each role', () => {
  it('are in PROTOCOL.md as in the code', () => {
    const rows = new Map<string, string[]>()
    roles.forEach((role, column) => {
      for (const { key, access, isGiven, commands } of usesOf(role, keys, '<queue>', '<id>')) {
        const shape = key === undefined ? 'none' : documentedShape(key)
        const row = rows.get(shape) ?? roles.map(() => '')
        row[column] =
          key === undefined ? commands.join(' ') : `${access}${isGiven ? ' FCALL' : ''}: ${commands.join(' ')}`.trim()
        rows.set(shape, row)
      }
    })
    const documented = rowsOf(section('14.3 Rights')).map(([key, ...cells]) => [unquoted(key!), cells.map(unquoted)])
    expect(documented).toEqual([...rows])
    for (const role of roles) {
      const rules = `resetkeys resetchannels -@all ${rulesOf(role, keys)}`
      expect(protocol).toContain(`\nACL SETUSER pshub-${role} on >secret ${rules}\n`)
    }
  })

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
