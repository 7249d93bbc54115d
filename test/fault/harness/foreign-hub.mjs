// A caller in another language behind what caller-process.mjs does with a hub: the one of clients/CONFORMANCE.md, in a process of its own.
import { startMember } from '../../conformance/language.mjs'

/** @param setup as caller-process.mjs has it; `caller`: the language's command and folder */
export const startForeignHub = async ({ caller: { command, folder }, redis, name }) => {
  const env = { PSHUB_REDIS: redis, PSHUB_NAME: name }
  const member = await startMember(command, folder, env)
  const hub = {
    /** What happens inside it, nobody here is told. */
    events: { on() {} },
    async call(task, args, { timeoutMs }) {
      const order = { task, args: JSON.stringify(args), timeout_ms: timeoutMs }
      const { ok, result, error } = await member.order('call', order).answer
      if (ok) return JSON.parse(result)
      throw Object.assign(new Error(error.message), error)
    },
    /** Reads a stream, as the order says; see reading.mjs. */
    read: order => member.order('stream', order).answer,
    /** It cannot look; that it can call is what its stage waits for. */
    async overview() {
      await hub.call('again:1.0', { token: 'hand-first' }, { timeoutMs: 2000 })
      return { tasks: [], workers: [] }
    },
    async close() {
      await member.order('close').answer
      await member.end()
    },
  }
  return hub
}
