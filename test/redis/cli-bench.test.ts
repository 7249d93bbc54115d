import { describe, expect, it } from 'vitest'
import { percentilesOf } from '../../src/cli/bench-picture.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli

describe('pshub bench', () => {
  it('calls for a while and shows how long calls took, and where', async () => {
    await cli.worker()
    const shown = await run(['bench', 'add', '{"a":1}', '--duration', '300ms', '--concurrency', '3'])
    expect(shown).toMatchObject({ code: 0, err: '' })
    const [first, , ...rows] = shown.out.split('\n')
    expect(first).toMatch(/^\d+ ok in [\d.]+ s, [\d.]+ calls\/s; none failed$/)
    expect(rows.map(row => row.split(' ')[0])).toEqual(['p50', 'p90', 'p99', 'p99.9', 'max', '', 'mean', ''])
    expect(rows[0]).toMatch(/^p50 +[\d.]+ ms {2}[▒▓█░]+$/)
    const told = JSON.parse(
      (await run(['bench', 'add:1.0', '{"a":1}', '--duration', '500ms', '--rate', '20', '--json'])).out,
    )
    expect(told.ok).toBe(10)
    expect(told.us.p50.total).toBeGreaterThan(0)
    expect(Object.keys(told.us)).toEqual(['p50', 'p90', 'p99', 'p99.9', 'max'])
  }, 60_000)

  it('asks first where a task may not be run twice, and counts what fails by its code', async () => {
    await cli.worker()
    const refused = await run(['bench', 'echo'])
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^echo:1\.2 is not declared idempotent, .* --yes\n/),
    })
    expect(await run(['bench', 'fail', '--yes', '--duration', '200ms'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('TaskFailed'),
    })
    expect(await run(['bench', 'ad:1.0'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('Did you mean add:1.0'),
    })
    expect(await run(['bench', 'add', '{}'])).toMatchObject({ code: 3, err: expect.stringContaining('InvalidArgs') })
  }, 60_000)

  it('has the parts of the calls around each percentile', () => {
    const waits = Array.from({ length: 100 }, (_, at) => ({
      backlog: 0,
      queue: 0,
      exec: at * 10,
      reply: 5,
      total: at * 10 + 5,
    }))
    const rows = percentilesOf([...waits].reverse())
    expect(rows.map(({ name, total }) => [name, total])).toEqual([
      ['p50', 495],
      ['p90', 895],
      ['p99', 985],
      ['p99.9', 995],
      ['max', 995],
    ])
    expect(rows.at(-1)).toMatchObject({ exec: 990, reply: 5 })
    expect(percentilesOf([])).toEqual([])
  })
})
