// What is done to workers while they run jobs. The numbers are those of the rows for calls, in docs/reliability.md.
import { setTimeout as sleep } from 'node:timers/promises'

/** As workers here have it. */
const leaseMs = 2000

/**
 * `once` is done again and again, to one process after the other; `acts` are what some jobs do; returns how many workers it hit.
 * `mayRepeat`: workers that nothing was done to may lose their lease, too, with what they run.
 */
export const faults = {
  F37: {
    title: 'worker processes killed',
    async once(stage, member) {
      await stage.endMember(member, 'SIGKILL')
      return member.workers
    },
  },
  F38: {
    title: 'worker processes stopped for two leases and more',
    mayOverlap: true,
    async once(stage, member) {
      await stage.stopMember(member, leaseMs * 2.5)
      return member.workers
    },
  },
  F39: {
    title: 'handlers that compute for three leases, and for less than one',
    mayRepeat: true,
    acts: [
      { share: 0.01, act: 'block', ms: leaseMs * 3 },
      { share: 0.05, act: 'block', ms: leaseMs * 0.4 },
    ],
    perSecond: 8,
    async once() {
      await sleep(1000)
      return 0
    },
  },
  F40: {
    title: 'workers told to stop, some handlers longer than their patience',
    graceMs: 500,
    acts: [{ share: 0.05, act: 'wait', ms: 3000 }],
    async once(stage, member) {
      await stage.endMember(member, 'SIGTERM')
      return member.workers
    },
  },
  F41: {
    title: 'handlers that throw, never end, or take their process along',
    acts: [
      { share: 0.03, act: 'throw', isDeadly: true },
      { share: 0.01, act: 'never', isDeadly: true },
      { share: 0.02, act: 'exit', isDeadly: true },
    ],
    perSecond: 20,
    async once() {
      await sleep(1000)
      return 0
    },
  },
}
