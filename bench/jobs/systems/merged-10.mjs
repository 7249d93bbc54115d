import { keyed } from './keyed.mjs'

export const { enqueuer, worker } = keyed({ keyed: 'merged', batch: 10 })
