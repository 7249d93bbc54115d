import type { RedisTargetOptions } from '../redis/target.ts'
import type { TestClock } from './clock.ts'
import type { MemoryRedis } from './redis/server.ts'

/** How far the clock is moved on at most until all have found Redis again. */
const backMs = 5000

/** The Redis of a test. */
export class TestRedis {
  /** Pass it as `redis` to further hubs and workers of the test. */
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

  /** Makes it unreachable: all connections break, and new ones fail. Its data stays. Resolves when the hub and the worker have noticed. */
  async goAway(): Promise<void> {
    this.#wereConnected = this.#users().map(({ connections }) => connections)
    this.#redis.goAway()
    await this.#clock.quiet({ isPatient: false })
  }

  /** Makes it reachable again, with its data. Resolves when the hub and the worker have reconnected; this advances the clock. */
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
   * Runs one command, like redis-cli, to read or write data.
   *
   * @throws Error as Redis replies
   */
  command(name: string, ...words: (string | number)[]): unknown {
    return this.#redis.command(name, ...words.map(String))
  }
}
