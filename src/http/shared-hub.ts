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
 * The shared hub of this process: the first call creates it with these options, later calls return it, whatever their
 * options. After it is closed, the next call creates a new one. It connects on first use. Close it when the server
 * stops: `hub.close()`.
 */
export const sharedHub = (options: HubOptions = {}): Hub => {
  const known = shared[place]
  if (known && !known.isClosed) return known
  const made = new SharedHub(options)
  shared[place] = made
  return made
}
