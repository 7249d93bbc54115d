// A caller in a process of its own: pairs of calls at once, of a task that runs for 20 ms. Writes what each waited.
import { Hub } from '../../dist/index.js'

const hub = new Hub({ redis: process.env.PSHUB_REDIS, namespace: process.env.PSHUB_NAMESPACE })
// Connected, however long that takes on a busy machine.
while (!(await hub.tasks().catch(() => undefined)));
const waits = []
hub.events.on('call:settled', ({ us, ms }) => waits.push({ ...us, ms }))
for (let n = 0; n < 15; n++) {
  const call = () => hub.call('once:1.0', { n, ms: 20 }, { timeoutMs: 5000 })
  await Promise.all([call(), call()])
}
await hub.close()
process.stdout.write(JSON.stringify({ waits, now: Date.now() }))
