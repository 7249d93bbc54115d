import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const document = readFileSync(join(import.meta.dirname, '../../docs/migrating.md'), 'utf8')

/** Lines of code of each snippet. */
const snippets = (text: string): number[] =>
  [...text.matchAll(/^```\w+(?: outline)?\n([\s\S]*?)^```/gm)].map(
    ([, code]) => code!.split('\n').filter(line => line.trim() !== '').length,
  )

describe('the first lines of another system, beside ours', () => {
  it.each(['BullMQ', 'Celery', 'Sidekiq'])('are no fewer than here: %s', name => {
    const part = document.split(/^## /m).find(each => each.startsWith(`From ${name}\n`))
    const [theirs, ...ours] = snippets(part!)
    const here = ours.reduce((sum, lines) => sum + lines, 0)
    expect(here).toBeGreaterThan(2)
    expect(here).toBeLessThanOrEqual(theirs!)
    expect(part).toContain(`${here} lines, theirs has ${theirs}`)
  })
})
