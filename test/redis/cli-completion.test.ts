import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli

describe('pshub completion', () => {
  const words = async (...typed: string[]) =>
    (await run(['completion', 'words', '--', ...typed])).out.split('\n').filter(Boolean)

  it('knows commands, options, and live tasks', async () => {
    await cli.worker()
    expect(await words('fo')).toEqual(['forward', 'forget'])
    expect(await words('')).toContain('help')
    expect(await words('help', 'ty')).toEqual(['types'])
    expect(await words('call', '--ti')).toEqual(['--timeout'])
    expect(await words('call', 'add')).toEqual(['add:1.0'])
    expect(await words('call', '--timeout', '')).toEqual([])
    expect(await words('workers', 'a')).toEqual([])
    expect(await words('nonsense', 'a')).toEqual([])
    // Who presses Tab is not told that Redis is away.
    expect(await words('call', '--redis', 'redis://127.0.0.1:1', 'add')).toEqual([])
    expect((await run(['completion', 'bash'])).out).toContain('complete ')
    expect(await run(['completion', 'powershell'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('bash, zsh, fish'),
    })
  })
})
