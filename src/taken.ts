import type { Claimed } from './answers.ts'
import type { QueueKeys } from './keys.ts'
import { leadingId } from './message.ts'
import type { Redis } from './redis.ts'
import { scripts } from './scripts.ts'
import { Preset, type Volley } from './volley.ts'

/** A request that its worker took by itself; its text is what Redis knows it by. */
export interface TakenRequest {
  id: string
  text: string
}

/** What a worker found when it took the first call. */
export interface Take extends Pick<Claimed, 'nowUs' | 'left'> {
  /** Undefined when no call waited. */
  text: string | undefined
  /** False: nobody would look for what this worker holds. */
  hasLease: boolean
}

interface Commands {
  workerId: string
  move: Preset
  lease: Preset
  remove: Preset
}

/**
 * Calls that a worker takes off the list with a plain LMOVE, into a list of its own. They are held like those in its hash: whoever
 * adopts from it finds them there, and so does its own reconcile. A lone call is so taken in half the time that the claim script
 * needs, whose Lua costs Redis as much as all plain commands of that call together; for several calls one script costs less.
 */
export class TakenCalls {
  readonly #keys: QueueKeys
  readonly #time = new Preset('time')
  readonly #left: Preset
  #commands: Commands | undefined

  constructor(keys: QueueKeys) {
    this.#keys = keys
    this.#left = new Preset('llen', keys.calls)
  }

  /**
   * Adds to a volley what takes the first call, if there is one; readTake() reads the answers. Redis' time is read before that, as in
   * a claim: what reconcile puts back later is newer.
   */
  addTake(volley: Volley, workerId: string): void {
    const { move, lease } = this.#of(workerId)
    volley.add(this.#time).add(move).add(lease).add(this.#left)
  }

  /** Adds to a volley what forgets a settled one; the answer is 0 when it is in the held hash by now. Repeating it is harmless. */
  addRelease(volley: Volley, workerId: string, text: string): void {
    volley.add(this.#of(workerId).remove, [text])
  }

  /** From here on they are held in the hash. */
  async hold(client: Redis, workerId: string, requests: readonly TakenRequest[]): Promise<void> {
    const keys = [this.#keys.taken(workerId), this.#keys.held(workerId)]
    await scripts.hold.run(
      client,
      keys,
      requests.flatMap(({ id, text }) => [id, text]),
    )
  }

  /** All that this worker took and did not release, as Redis knows it. */
  async texts(client: Redis, workerId: string): Promise<string[]> {
    return client.lrange(this.#keys.taken(workerId), 0, -1).catch(error => {
      if (!isAdopted(error)) throw error
      return []
    })
  }

  #of(workerId: string): Commands {
    if (this.#commands?.workerId !== workerId) {
      const { calls, leases, taken } = this.#keys
      const own = taken(workerId)
      this.#commands = {
        workerId,
        move: new Preset('lmove', calls, own, 'LEFT', 'RIGHT'),
        lease: new Preset('zscore', leases, workerId),
        remove: new Preset('lrem', own, 1),
      }
    }
    return this.#commands
  }
}

/** Throws what Redis refused. */
export const readTake = ([time, text, end, left]: unknown[]): Take => {
  if (text instanceof Error && isAdopted(text)) return { nowUs: 0, text: undefined, hasLease: false, left: 0 }
  for (const answer of [time, text, end, left]) if (answer instanceof Error) throw answer
  const [seconds, us] = time as [string, string]
  const nowUs = Number(seconds) * 1_000_000 + Number(us)
  const hasLease = end !== null && Number(end) * 1000 >= nowUs
  return { nowUs, text: (text as string | null) ?? undefined, hasLease, left: left as number }
}

/** A string is where this worker's list was: others have what was in it. */
export const isAdopted = (error: Error): boolean => error.message.startsWith('WRONGTYPE')

/** How one is held in the hash: those without an id of their own get one that nobody else has. */
export const heldIdOf = (text: string, nowUs: number, place = 1): string => leadingId(text) ?? `hand-${nowUs}-${place}`
