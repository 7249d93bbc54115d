import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { startListener } from '../support/http-listener.ts'
import { read } from '../support/protocol-document.ts'

const cli = useCli()

/** The rows of all tables: what is run, and what it says. */
const rows = [...read('docs/when-it-fails.md').matchAll(/^\| `(pshub [^`]*)` \| `([^`]*)` \|/gm)].map(
  ([, line, said]) => [line!, said!] as const,
)

/** `…` is anything; the rest is read as it stands. */
const patternOf = (said: string) =>
  new RegExp(
    said
      .split('…')
      .map(part => part.trim().replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
      .join('[\\s\\S]*'),
  )

/** As a shell takes it apart; quotes are all that there is. */
const wordsOf = (line: string) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

const importing = `import { defineTask } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}\n`
const declaring = /^```js\n(import \{ defineTask \} from 'pshub'\n[\s\S]*?)^```/m.exec(
  read('docs/when-it-fails.md'),
)![1]!
const modules = {
  'tasks.mjs': `${declaring.replace(/^import .*\n/, importing)}
    export const broken = defineTask('broken:1.0', {}, () => { throw new Error('no such file') })
    export const slow = defineTask('slow:1.0', {}, () => new Promise(resolve => setTimeout(resolve, 5000)))`,
  'old.mjs': `${importing}export const old = defineTask('old:1.0', {}, () => 1)`,
  'throws.mjs': "throw new Error('no key')",
}

describe('what docs/when-it-fails.md says', () => {
  it('is a list of more than ten mistakes', () => expect(rows.length).toBeGreaterThan(10))

  it('is what each of them is told', async () => {
    for (const [name, text] of Object.entries(modules)) cli.module(name, text)
    const retired = cli.start(['worker', './old.mjs'])
    await retired.shows('worker started')
    retired.signal('SIGTERM')
    await retired.ended
    const worker = cli.start(['worker', './tasks.mjs', '--queue', 'images'])
    await worker.shows('worker started')
    const listener = await startListener()
    const port = new URL(cli.url).port
    const here = (word: string) =>
      word.replace(/(?<=127\.0\.0\.1:)6379/, port).replace(/(?<=127\.0\.0\.1:)7421/, `${listener.port}`)
    try {
      for (const [line, said] of rows) {
        const { code, out, err } = await cli.run(wordsOf(line).slice(1).map(here))
        expect(code, line).not.toBe(0)
        expect(out, line).toBe('')
        expect(err, line).toMatch(patternOf(said))
        expect(err, line).not.toMatch(/^ +at /m)
      }
    } finally {
      await listener.close()
    }
  }, 120_000)
})
