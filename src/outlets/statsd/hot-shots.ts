import { type ClientOptions, StatsD } from 'hot-shots'

/** What is used of a client of hot-shots. Its types leave out `send`, which takes a finished line. */
export interface StatsdClient {
  send(line: string): void
  flush(): void
  close(done: () => void): void
}

/**
 * Opens one. The package carries the code of hot-shots in place of this import (tools/embed.mjs): installed, that would have a C++
 * addon compiled for sockets on paths, which it is not used for here.
 */
export const openStatsd = (options: object): StatsdClient =>
  new StatsD(options as ClientOptions) as unknown as StatsdClient
