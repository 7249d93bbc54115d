import type { HubOptions } from '../hub/call-options.ts'
import { Hub } from '../hub/hub.ts'

class SharedHub extends Hub {
  get isClosed(): boolean {
    return this.closing.signal.aborted
  }
}

/** On the global object, because frameworks load a module anew after each change of a file, and more than once in a build. */
const place = Symbol.for('pshub.sharedHub')
const shared = globalThis as { [place]?: SharedHub }

/**
 * The one hub of this process: the first call makes it with these options, later ones return that, whatever theirs are. Once it is closed,
 * the next call makes another one. It connects when it is first used. Whoever ends the server closes it: `hub.close()`.
 */
export const sharedHub = (options: HubOptions = {}): Hub => {
  const known = shared[place]
  if (known && !known.isClosed) return known
  const made = new SharedHub(options)
  shared[place] = made
  return made
}
