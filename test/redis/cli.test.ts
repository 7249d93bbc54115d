import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { root, useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli
describe('help', () => {
  it('is an error to ask for nothing, and shows what there is', async () => {
    const { code, out, err } = await run([])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('Usage: pshub <command>')
  })

  it('lists the commands, and the version alone', async () => {
    const help = await run(['--help'])
    expect(help.code).toBe(0)
    for (const name of ['worker', 'call', 'tasks', 'workers', 'queues', 'pause', 'resume', 'metrics', 'check'])
      expect(help.out).toContain(`  ${name} `)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
  })

  it.each([
    [['taks'], "pshub has no command 'taks'. Did you mean tasks?"],
    [['call'], 'pshub call needs the name of a task'],
    [['--json', 'tasks'], 'Put the command first'],
    [['tasks', '--redis', 'http://x'], '--redis must be a URL like redis://127.0.0.1:6379'],
    [['tasks', '--config', 'gone.json'], 'The settings file gone.json cannot be read'],
    [
      ['call', 'x', '--tracing', 'maybe'],
      '--tracing must be on or off; true or false in code and files; it is "maybe"',
    ],
    [['call', 'x', '{a:1}'], 'The second argument is not JSON'],
  ])('%j ends with 2 and says why', async (args, message) => {
    const { code, out, err } = await run(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
    expect(err).not.toMatch(/\n\s+at /)
  })
})

describe('call', () => {
  it('tells on stderr how long each part took when it is asked', async () => {
    await cli.worker()
    const told = await run(['call', 'add:1.0', '{"a":1,"b":2}', '--phases'])
    expect(told).toMatchObject({ code: 0, out: '3\n' })
    expect(told.err).toMatch(
      /^backlog \d+\.\dms {2}queue \d+\.\dms {2}exec \d+\.\dms {2}reply \d+\.\dms {2}total \d+\.\dms\n$/,
    )
    const json = await run(['call', 'fail:1.0', '--phases', '--json'])
    const [phases, error] = json.err.split('\n').map(line => line && JSON.parse(line))
    expect(Object.keys(phases.phases)).toEqual(['backlog', 'queue', 'exec', 'reply', 'total'])
    expect(error.code).toBe('TaskFailed')
    const unknown = await run(['call', 'none:1.0', '--phases'])
    expect(unknown.err).toContain('No worker reported the time of each part.')
  })

  it('prints the result as one line of JSON to a pipe', async () => {
    await cli.worker()
    expect(await run(['call', 'add:1.0', '{"a":1,"b":2}'])).toEqual({ code: 0, out: '3\n', err: '' })
    expect(await run(['call', 'echo', '-'], { input: '\ufeff{\n "z": [1] }' })).toEqual({
      code: 0,
      out: '{"z":[1]}\n',
      err: '',
    })
    expect((await run(['call', 'echo:1'])).out).toBe('{}\n')
    const hostile = await run(['call', 'echo', '"\\u009b2J\\u202e"'])
    expect(hostile.out).toBe('"\\u009b2J\\u202e"\n')
  })

  it('ends with 1 when the task ran and failed', async () => {
    await cli.worker()
    const failed = await run(['call', 'fail'])
    expect(failed).toEqual({
      code: 1,
      out: '',
      err: 'TaskFailed: no\\u001b[31mluck\n  data: {"why":"chance"}\nThe log of its worker has the stack.\n',
    })
    const wrong = await run(['call', 'wrong'])
    expect(wrong.code).toBe(1)
    expect(wrong.err).toMatch(
      /^InvalidResult: The result of wrong:1\.0 does not match the schema:\n {2}\S.*must be string/,
    )
  })

  it('ends with 3 when the task certainly was not run', async () => {
    const worker = await cli.worker()
    const unknown = await run(['call', 'ad'])
    expect(unknown.code).toBe(3)
    expect(unknown.err).toMatch(/^NoSuchTask: No worker ever declared ad\. Did you mean add:1\.0/)
    const unfit = await run(['call', 'add', '{"c":1}'])
    expect(unfit.code).toBe(3)
    expect(unfit.err).toMatch(/^InvalidArgs: The arguments of add:1\.0 do not match the schema:\n {2}\/\S+ {2}\w/)
    const large = await run(['call', 'echo', '-', '--max-payload-bytes', '1024'], { input: `"${'x'.repeat(2000)}"` })
    expect(large.code).toBe(3)
    expect(large.err).toContain('PayloadTooLarge: ')
    await worker.stop()
    const unserved = await run(['call', 'add', '{"a":1}', '--json'])
    expect(unserved.code).toBe(3)
    expect(unserved.out).toBe('')
    expect(JSON.parse(unserved.err)).toMatchObject({ code: 'NoWorkers', ran: 'no', retryable: true })
  })

  it('ends with 4 when the task may have run', async () => {
    await cli.worker()
    const late = await run(['call', 'slow', '{"ms":50000}', '--timeout', '300ms'])
    expect(late.code).toBe(4)
    expect(late.err).toMatch(
      /^Timeout: slow:1\.0 did not answer.*\nIt may have run\.\nTo see what it waited for: 'pshub slow' and 'pshub queues'/,
    )
  })
})

describe('check', () => {
  it('shows what it found, in words and as JSON', async () => {
    const shown = await run(['check'])
    expect(shown.code).toBe(0)
    expect(shown.out).toMatch(/^ok {7}reachable {8}redis:\/\/127\.0\.0\.1:\d+ answers within [\d.]+ ms$/m)
    expect(shown.out).toMatch(/^ok {7}eviction {9}noeviction$/m)
    expect(shown.out).toMatch(/^warning {2}persistence/m)
    expect(shown.out).toMatch(/^ok {7}worker rights {4}this user may serve a queue$/m)
    const json = await run(['check', '--json'])
    expect(json.code).toBe(0)
    const { redis: target, pingMs, findings } = JSON.parse(json.out)
    expect(target).toBe(cli.url)
    expect(pingMs).toBeGreaterThan(0)
    expect(findings.map(({ what }: { what: string }) => what)).toContain('role')
  })

  it('says what the user may do, and for a named use what is missing', async () => {
    const rules = rulesOf('hub', makeKeys(cli.namespace), 'shop')
    await cli.redis.call('ACL', 'SETUSER', 'caller', 'reset', 'on', '>secret', ...rules.split(' '))
    const env = { PSHUB_REDIS: cli.url.replace('//', '//caller:secret@'), PSHUB_QUEUE: 'shop' }
    const all = await run(['check'], { env })
    expect(all.code).toBe(0)
    expect(all.out).toMatch(/^ok {7}hub rights {7}this user may call tasks$/m)
    const denied = 'this user may not serve a queue; to see what is missing: pshub check --for worker'
    expect(all.out).toContain(`warning  worker rights    ${denied}\n`)
    expect((await run(['check', '--for', 'hub'], { env })).code).toBe(0)
    const worker = await run(['check', '--for', 'worker'], { env })
    expect(worker.code).toBe(1)
    expect(worker.out).toMatch(
      /^error {4}worker rights {2,3}.* it lacks CLIENT\|ID CLIENT\|UNBLOCK, FCALL SET on .*shards, FCALL HDEL HGET HSET on .* To grant it: ACL SETUSER/m,
    )
    expect(worker.out).not.toContain('hub rights')
    const other = await run(['check', '--for', 'hub', '--queue', 'other'], { env })
    expect(other.code).toBe(1)
    expect(other.out).toContain(':{other}:calls')
    const wrong = await run(['check', '--for', 'boss'], { env })
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('--for must be hub, jobs, worker, view') })
    await cli.redis.call('ACL', 'DELUSER', 'caller')
  })

  it('tells a user who may not even ask for the time what is missing', async () => {
    await cli.redis.call('ACL', 'SETUSER', 'bare', 'reset', 'on', '>secret', '+info', '+client')
    const shown = await run(['check'], { env: { PSHUB_REDIS: cli.url.replace('//', '//bare:secret@') } })
    expect(shown.code, shown.err).toBe(1)
    expect(shown.out).toMatch(/^ok {7}reachable/m)
    expect(shown.out).toMatch(/^error {4}view rights .* it lacks .*TIME.* To grant it: ACL SETUSER bare /m)
    await cli.redis.call('ACL', 'DELUSER', 'bare')
  })
})
