import { describe, expect, it } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { useCli } from '../support/cli-fixture.ts'
import { codeBlocks } from '../support/code-blocks.ts'

const cli = useCli()

describe('docs/deploying.md', () => {
  it('has settings of Redis with which it starts, and of which pshub check has nothing to say', {
    timeout: 60_000,
  }, async () => {
    const block = codeBlocks().find(
      ({ document, text }) => document === 'docs/deploying.md' && /^maxmemory /m.test(text),
    )
    const lines = block!.text.trim().split('\n')
    const args = lines.flatMap(line => {
      const [name, ...values] = line.split(' ')
      return [`--${name}`, ...values]
    })
    const server = await startServer({ args })
    try {
      const { code, out, err } = await cli.run(['check', '--redis', server.url])
      expect([code, err]).toEqual([0, ''])
      expect(out).not.toMatch(/warn/i)
      for (const name of ['maxmemory-policy', 'appendonly']) expect(lines.join('\n')).toContain(name)
    } finally {
      await server.stop()
    }
  })
})
