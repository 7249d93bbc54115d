// Callers as Redis sees them: their own look-ups of routes, at the times at which calls have them look, without calls.
import { Catalogue } from '../../dist/catalogue/catalogue.js'
import { Events } from '../../dist/figures/events.js'
import { Resolver } from '../../dist/hub/resolver.js'
import { Routes } from '../../dist/hub/routes.js'
import { monotonicMs } from '../../dist/wire/clock.js'

export class SimulatedHub {
  #routes
  #called

  /** `called`: names of the tasks that it calls again and again. */
  constructor({ connection, keys, called }) {
    const resolver = new Resolver(connection, new Catalogue(keys), keys, new Events())
    this.#routes = new Routes({ resolver, connection, closing: new AbortController().signal })
    this.#called = called
  }

  /** Its first calls. */
  async begin() {
    for (const task of this.#called) await this.#routes.find(task, undefined, monotonicMs() + 60_000, undefined)
  }

  /** One call of each of its tasks: what is known of it for a second is looked up again. */
  call() {
    for (const task of this.#called)
      if (!this.#routes.known(task, undefined)) this.#routes.find(task, undefined, monotonicMs() + 60_000, undefined)
  }
}
