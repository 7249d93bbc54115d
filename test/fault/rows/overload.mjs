// F45: more calls than can be served.
import { waited } from './connections.mjs'

const task = { ms: [20, 20], chars: [0, 50], timeoutMs: 1000 }
const slots = 8
/** Two workers of four slots, each call 20 ms; what the harness itself takes is not counted. */
const capacity = (slots / 20) * 1000

export const overloadRows = [
  {
    id: 'F45',
    title: 'five times as many calls as can be served, for 10 s',
    load: { ...task, perSecond: capacity / 2 },
    faultMs: 10_000,
    inject: stage => stage.load({ ...task, perSecond: capacity * 5 }),
    heal: stage => stage.load({ ...task, perSecond: capacity / 2 }),
    report({ calls, marks }) {
      const seconds = (marks.healed - marks.fault) / 1e6
      const inside = [...calls.values()].filter(({ at }) => at >= marks.fault && at < marks.healed)
      const served = inside.filter(({ settles: [settle] }) => settle?.code === 'OK').length / seconds
      return `${Math.round(inside.length / seconds)} calls/s made, ${Math.round(served)} served; at most ${capacity} can be`
    },
    expect: { allowed: waited },
  },
]
