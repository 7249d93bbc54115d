interface Sent {
  connection: string | undefined
  run: () => Promise<void>
}

/**
 * What became of commands whose connections were given up before they were answered. Each runs at any later moment, between any other
 * steps, or never; once the next connection of the same kind has fenced it, never. A dead process has no next connection.
 */
export class Wire {
  readonly #isFenced: boolean
  #copies: Sent[] = []
  #doubts: Sent[] = []

  constructor(isFenced: boolean) {
    this.#isFenced = isFenced
  }

  /** `again`: what its process does about it on the next connection, where that is more than to forget it. */
  giveUp(connection: string, run: () => Promise<void>, again?: () => Promise<void>): void {
    this.#copies.push({ connection, run })
    if (again) this.#doubts.push({ connection, run: again })
  }

  /** One of those under way arrives. Returns whether there was one. */
  async arrive(which: number): Promise<boolean> {
    const [copy] = this.#copies.splice(which % Math.max(1, this.#copies.length), 1)
    await copy?.run()
    return copy !== undefined
  }

  /**
   * There is another connection, which fenced this one, and what was in doubt is repeated. Goes before all that is sent over it. Returns
   * whether something never arrived.
   */
  async reconnect(connection: string): Promise<boolean> {
    const isOf = (sent: Sent) => sent.connection === connection
    const isLost = this.#copies.some(isOf)
    if (this.#isFenced) this.#copies = this.#copies.filter(sent => !isOf(sent))
    const again = this.#doubts.filter(isOf)
    this.#doubts = this.#doubts.filter(sent => !isOf(sent))
    for (const { run } of again) await run()
    return isLost
  }

  /** Nothing of it ever arrives. */
  lose(connection: string): void {
    this.abandon(connection)
    this.#copies = this.#copies.filter(copy => copy.connection !== undefined)
  }

  /** The process at its end is gone. */
  abandon(connection: string): void {
    this.#doubts = this.#doubts.filter(sent => sent.connection !== connection)
    for (const copy of this.#copies) if (copy.connection === connection) copy.connection = undefined
  }
}
