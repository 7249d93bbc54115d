import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'
import { generatedValues, saysTheSame } from '../support/generated-values.mjs'

const cli = useCli()

it('generated values come back equal through the command line', async () => {
  await cli.worker({ bigint: 'bigint' }, [defineTask('echo:1.0', {}, args => args)])
  const texts = generatedValues(3, 5000).flatMap(({ text, mayBeRefused }) => (mayBeRefused ? [] : [text]))
  for (let from = 0; from < texts.length; from += 500) {
    const text = `[${texts.slice(from, from + 500)}]`
    const { code, out, err } = await cli.run(['call', 'echo:1.0', '-'], { input: text })
    expect(code, err).toBe(0)
    expect(saysTheSame(out, text), text).toBe(true)
  }
})
