import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { messageOf } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'

/** What is kept: the means of each minute for a day, and of each hour for 30 days. */
const chartSteps = { minute: { ms: 60_000, count: 1440 }, hour: { ms: 3600_000, count: 720 } } as const
export type ChartStep = keyof typeof chartSteps

/** So long a record may be, bytes: with one for each step, all records take up to 35 MB. */
const longestChart = 16_384

type Ask = <T>(commands: (client: Redis) => Promise<T>, otherwise: string) => Promise<T>

/**
 * What services on this hub keep of their charts: a text for each minute and each hour, which ends by itself. All throw HubError NotEnqueued
 * when Redis is away or this user may not, and HubClosed.
 */
export class KeptCharts {
  readonly #ask: Ask
  readonly #keys: () => Keys

  constructor(keys: () => Keys, ask: Ask) {
    this.#keys = keys
    this.#ask = ask
  }

  /** The records of the steps before this one, oldest first; an empty text where there is none. */
  async read(step: ChartStep, before: number): Promise<{ number: number; text: string }[]> {
    const { count } = chartSteps[step]
    const numbers = Array.from({ length: count }, (_, at) => before - count + at)
    return this.#ask(
      client =>
        Promise.all(
          numbers.map(async number => {
            const key = this.#keys().chart(step, number)
            const text = await command(client, 'getrange', key, 0, longestChart - 1).catch(unlessOtherType)
            return { number, text: String(text) }
          }),
        ),
      'The charts could not be read',
    )
  }

  /** Writes a record once: that of whoever comes first stays, so that services on one Redis neither add up nor overwrite each other. */
  async write(step: ChartStep, number: number, text: string): Promise<void> {
    const { ms, count } = chartSteps[step]
    const key = this.#keys().chart(step, number)
    await this.#ask(
      client => command(client, 'set', key, text, 'PX', ms * (count + 1), 'NX'),
      'The charts could not be saved',
    )
  }
}

/** Somebody wrote a list or the like there; the other records are good. */
const unlessOtherType = (error: unknown): string => {
  if (messageOf(error).includes('WRONGTYPE')) return ''
  throw error
}
