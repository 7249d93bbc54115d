import type { Command, Redis } from 'ioredis'
import type { Connection } from '../../src/redis/connection.ts'
import { ConnectionLost } from '../../src/redis/failures.ts'

/** A hub's reply list with its second one, and the connection that reads them and may break at any moment. */
export class ScheduledList {
  #waiting: string[] = []
  #read: string[] = []
  /** Ends the blocking read that waits. */
  #wake: (() => void) | undefined
  #break: ((reason: Error) => void) | undefined
  #answersToLose = 0

  push(reply: string): void {
    this.#waiting.push(reply)
    this.#wake?.()
  }

  /** It breaks now, or when the commands under way have run: then their answer is lost. */
  cut(when: 'now' | 'at the next answer'): void {
    if (when === 'at the next answer') {
      this.#answersToLose++
      return
    }
    this.#wake?.()
    this.#break?.(new ConnectionLost('cut'))
  }

  get connection(): Connection {
    return {
      isReady: true,
      whenReady: async () => undefined,
      send: <T>(commands: (client: Redis) => Promise<T>) =>
        new Promise<T>((resolve, reject) => {
          this.#break = reject
          commands(this.#client()).then(answer => {
            if (this.#answersToLose === 0) return resolve(answer)
            this.#answersToLose--
            reject(new ConnectionLost('cut'))
          }, reject)
        }),
      close: async () => this.cut('now'),
    } as unknown as Connection
  }

  /** The commands of hub/inbox.ts, each run when the one before it has been. */
  #client(): Redis {
    let previous: Promise<unknown> = Promise.resolve()
    const next = <T>(command: () => T | Promise<T>): Promise<T> => {
      const result = previous.then(command)
      previous = result
      return result
    }
    return {
      sendCommand: (command: Command) => next(() => this.#run(command.name, command.args.map(String))),
    } as unknown as Redis
  }

  #run(name: string, [key = '', first]: string[]): unknown {
    const isRead = key.endsWith(':read')
    switch (name) {
      case 'blmove':
        return this.#blockingMove()
      case 'lrange':
        return [...(isRead ? this.#read : this.#waiting)]
      case 'ltrim':
        if (isRead) this.#read = this.#read.slice(Number(first))
        else this.#waiting = this.#waiting.slice(Number(first))
        return 'OK'
      case 'rpush':
        this.#read.push(first!)
        return this.#read.length
      case 'pexpire':
        return 1
      case 'unlink':
        this.#read = []
        return 1
      default:
        throw new Error(`${name} is not known here`)
    }
  }

  async #blockingMove(): Promise<string | null> {
    if (this.#waiting.length === 0) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 2000)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#wake = undefined
    }
    const first = this.#waiting.shift()
    if (first === undefined) return null
    this.#read.push(first)
    return first
  }
}
