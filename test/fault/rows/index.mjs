// The fault table. A row: `id`, `title`; `load` (see caller-process.mjs); `inject(stage)` begins the fault, which lasts
// `faultMs` (`isStretched`: without what the machine took of it), and `heal(stage)` ends it, beside what the proxies heal by themselves; `expect`: see measures.mjs;
// `check(stage)` looks for more, and `report(history)` says more; `needs()` throws why it cannot be run here.
import { callerRows } from './callers.mjs'
import { clusterRows } from './clusters.mjs'
import { connectionRows } from './connections.mjs'
import { deployRows } from './deploys.mjs'
import { failoverRows } from './failovers.mjs'
import { foreignRows } from './foreign.mjs'
import { garbageRows } from './garbage.mjs'
import { heavyRows } from './heavy.mjs'
import { lateRows } from './late.mjs'
import { outageRows } from './outages.mjs'
import { overloadRows } from './overload.mjs'
import { promotionRows } from './promotions.mjs'
import { refusalRows } from './refusals.mjs'
import { streamRows } from './streams.mjs'
import { workerRows } from './workers.mjs'

const all = [
  ...connectionRows,
  ...lateRows,
  ...outageRows,
  ...refusalRows,
  ...workerRows,
  ...callerRows,
  ...overloadRows,
  ...failoverRows,
  ...promotionRows,
  ...clusterRows,
  ...deployRows,
  ...foreignRows,
  ...garbageRows,
  ...heavyRows,
  ...streamRows,
]

export const rows = all.sort((a, b) => a.id.localeCompare(b.id))

/** What npm test runs: one row of each kind. npm run test:all runs all of them. */
export const subset = ['F01', 'F13', 'F21', 'F32', 'F37-adopt', 'F38', 'F41-streams']
