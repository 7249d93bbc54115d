// What is done to workers while they run jobs. The numbers are those of the rows for calls, in bench/results/faults.md.
import { setTimeout as sleep } from 'node:timers/promises'

/** As workers here have it. */
const leaseMs = 2000

/** Commands that hold one of these texts are held, one after the other, and arrive a moment after they were given up. */
const late = (title, texts) => ({
  title,
  urlOf: ({ proxies: [proxy] }) => proxy.url,
  // What is sent again may be held again, several times in a row, with the beats behind it: nobody is to lose its lease by that.
  leaseMs: 20_000,
  perSecond: 20,
  // What they are about runs again when they arrive.
  work: { longestMs: 3000, failing: 0.6 },
  async once({ ground }) {
    const [proxy] = ground.proxies
    const text = texts[Math.floor(Math.random() * texts.length)]
    proxy.lateMs = 200 + Math.random() * 1000
    proxy.holdFrom = chunk => chunk.includes(text)
    await sleep(300)
    return 0
  },
  /** What is wrong with it, if anything is. */
  verdict({ proxies: [{ late }] }) {
    if (late.answered > 0) return `late commands that ran: ${late.answered} of ${late.held}`
    return late.closed > 0 ? undefined : `nothing came late: ${late.held} were held`
  },
})
const operations = ['settle', 'forward', 'batch', 'claim', 'due', 'enqueue', 'beat', 'tick', 'reply']

/**
 * `once` is done again and again, to one process after the other; `acts` are what some jobs do; returns how many workers it hit.
 * `mayRepeat`: workers that nothing was done to may lose their lease, too, with what they run.
 */
export const faults = {
  F48: {
    title: '0.5 to 20 ms between everybody and redis',
    urlOf: ({ proxies: [proxy] }) => proxy.url,
    async prepare({ proxies: [proxy] }) {
      proxy.delayMs = () => 0.25 + Math.random() ** 2 * 9.75
    },
    perSecond: 20,
    async once() {
      await sleep(1000)
      return 0
    },
  },
  F49: late(
    'commands of each kind that arrive after they were given up',
    operations.map(name => `pshub_1_${name}`),
  ),
  'F49-settle': {
    ...late('ends of failed tries that arrive after they were given up', ['\r\nretry\r\n']),
    workersEach: 1,
    perSecond: 10,
  },
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
