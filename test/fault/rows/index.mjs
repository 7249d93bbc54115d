// The fault table. A row: `id`, `title`; `load` (see caller-process.mjs); `inject(stage)` begins the fault, which lasts
// `faultMs`, and `heal(stage)` ends it, beside what the proxies heal by themselves; `expect`: see measures.mjs.
import { connectionRows } from './connections.mjs'
import { outageRows } from './outages.mjs'
import { workerRows } from './workers.mjs'

export const rows = [...connectionRows, ...outageRows, ...workerRows]
