import { describe, expect, it } from 'vitest'
import { Catalogue } from '../../src/catalogue.ts'
import { makeKeys } from '../../src/keys.ts'
import type { Redis } from '../../src/redis.ts'

/** Answers a scan page by page, as Redis does while its hash grows: an element may come twice, and a page may be empty. */
const paged = (pages: string[][]): Redis =>
  ({
    sendCommand: async ({ name, args: [, ...args] }: { name: string; args: string[] }) => {
      if (name === 'hmget') return args.map(() => null)
      const at = Number(args[0])
      return [at + 1 < pages.length ? String(at + 1) : '0', pages[at]!]
    },
  }) as unknown as Redis

describe('a walk through the registry', () => {
  const catalogue = new Catalogue(makeKeys('pshub'))
  const task = (name: string) => [name, JSON.stringify({ task: name, queue: 'q', at: 1 })]
  const worker = (id: string) => [id, JSON.stringify({ id, queue: 'q', tasks: {} })]

  it('tells each task once, and passes over what is none', async () => {
    const pages = [[...task('a:1.0'), ...task('b:1.0')], [], ['spoilt:1.0', 'no card', ...task('a:1.0')], task('c:1.0')]
    const cards = await catalogue.allTasks(paged(pages))
    expect(cards.map(card => card.task)).toEqual(['a:1.0', 'b:1.0', 'c:1.0'])
  })

  it('tells each worker once', async () => {
    const workers = await catalogue.allWorkers(paged([[...worker('w1')], [...worker('w2'), ...worker('w1')]]))
    expect(workers.map(({ id }) => id)).toEqual(['w1', 'w2'])
  })
})
