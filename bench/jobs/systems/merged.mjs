import { keyed } from './keyed.mjs'

// A key for each job, as Lowkiq has it.
export const { enqueuer, worker } = keyed({ keyed: 'merged' })
