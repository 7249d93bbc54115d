import { command, type NodeClient } from './client.ts'

/** Words that have CLIENT KILL end this client and no other: ids begin anew when a server restarts, and so its address is compared too. */
const wordsFor = (info: string): string[] | undefined => {
  const [, id, address] = /^id=(\d+) addr=(\S+) /.exec(info) ?? []
  return id === undefined || address === undefined ? undefined : ['ID', id, 'ADDR', address]
}

/**
 * Fences the predecessor of a connection. Bytes of a connection that was given up may still be on their way, and Redis would obey
 * them when they arrive: a second hand-back lets a call run twice, a second settle ends the next run of a job. So a new connection
 * has the server close the previous one, and nothing else is sent before that is confirmed: each command of the previous one has run
 * by then, or never will. One fence belongs to one server and one role, and outlives its connections.
 *
 * Without the right to use CLIENT KILL or CLIENT INFO there is no fence; `pshub check` says so. After a failover the previous server
 * may still obey late commands: what it writes then is lost with it.
 */
export class Fence {
  #predecessor: string[] | undefined

  /** Resolves when no command of the previous client can run any more. Rejects when `client` breaks meanwhile. */
  async pass(client: NodeClient): Promise<void> {
    const ended = this.#predecessor ? refusable(command(client, 'client', 'kill', ...this.#predecessor)) : undefined
    const [info] = await Promise.all([refusable(command(client, 'client', 'info')), ended])
    this.#predecessor = wordsFor(String(info))
  }
}

/** Undefined where Redis refuses a command; a connection that breaks is an error. */
const refusable = (answer: Promise<unknown>): Promise<unknown> =>
  answer.catch(error => {
    if ((error as Error).name !== 'ReplyError') throw error
  })
