import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli
const numbers = '{"id":1253261109769874438,"zero":-0,"one":1.0,"list":[9007199254740993,{"x":2.50}]}'
const echo = defineTask('echo:1.0', { retries: 0 }, args => args)
const parts = defineTask('parts:1.0', {}, function* (args) {
  yield args
})

it('the command line passes numbers on as they are written', async () => {
  await cli.worker({ bigint: 'exact', queue: 'q' }, [echo, parts])
  const out = async (args: string[], input?: string) => (await run(args, input === undefined ? {} : { input })).out
  expect(await out(['call', 'echo:1.0', numbers])).toBe(`${numbers}\n`)
  expect(await out(['call', 'echo:1.0', '-'], numbers)).toBe(`${numbers}\n`)
  expect(await out(['call', 'parts:1.0', numbers, '--stream'])).toBe(`${numbers}\n`)
  const id = (await out(['enqueue', 'echo:1.0', numbers, '--tracked'])).trim()
  expect(await out(['job', id, '--wait'])).toBe(`${numbers}\n`)
  expect(await out(['job', id, '--json'])).toContain(`"result":${numbers}`)
  const lines = await run(['enqueue', '--file', '-', '--json'], {
    input: `["echo:1.0",${numbers},{"tracked":true,"delayMs":1.0}]`,
  })
  const [second] = JSON.parse(lines.out).ids
  expect(await out(['job', second, '--wait'])).toBe(`${numbers}\n`)
  await run(['schedules', 'add', 's', '0 0 1 1 *', 'echo:1.0', numbers, '--queue', 'q'])
  expect(await out(['schedules', '--queue', 'q', '--json'])).toContain(numbers)
  await run(['schedules', 'remove', 's', '--queue', 'q'])
})
