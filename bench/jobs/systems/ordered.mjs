import { keyed } from './keyed.mjs'

export const { enqueuer, worker } = keyed({ keyed: 'ordered' }, 2000)
