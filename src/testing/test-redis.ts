import type { RedisTargetOptions } from '../redis/target.ts'
import type { TestClock } from './clock.ts'
import type { MemoryRedis } from './redis/server.ts'

/** How far the clock is moved on at most until all have found Redis again. */
const backMs = 5000

/** The Redis of a test, from the outside. */
export class TestRedis {
  /** Give it as `redis` to further hubs and workers of the test. */
  readonly target: RedisTargetOptions
  readonly #redis: MemoryRedis
  readonly #clock: TestClock
  readonly #users: () => { readonly connections: number }[]
  #wereConnected: number[] = []

  constructor(
    redis: MemoryRedis,
    clock: TestClock,
    target: RedisTargetOptions,
    users: () => { readonly connections: number }[],
  ) {
    this.#redis = redis
    this.#clock = clock
    this.target = target
    this.#users = users
  }

  /** All connections break, and no new one is made. What is in it stays. Resolves when the hub and the worker have noticed. */
  async goAway(): Promise<void> {
    this.#wereConnected = this.#users().map(({ connections }) => connections)
    this.#redis.goAway()
    await this.#clock.quiet({ isPatient: false })
  }

  /** It is there again, with all that was in it. Resolves when the hub and the worker have found it, for which the clock is moved on. */
  async comeBack(): Promise<void> {
    this.#redis.comeBack()
    const end = this.#clock.nowMs + backMs
    const isBack = () => this.#users().every(({ connections }, at) => connections >= (this.#wereConnected[at] ?? 0))
    while (!isBack() && this.#clock.nowMs < end) await this.#clock.step(100)
    await this.#clock.quiet()
  }

  /** The same without waiting. */
  comeBackNow(): void {
    this.#redis.comeBack()
  }

  /**
   * Runs one command, as redis-cli would, to look at what is there or to put something there.
   * @throws Error as Redis answers
   */
  command(name: string, ...words: (string | number)[]): unknown {
    return this.#redis.command(name, ...words.map(String))
  }
}
