import { type ForwardedJob, Forwarder, type ForwarderOptions, type ForwardOutcome } from '../../src/index.ts'
import type { Fixture } from './hub-fixture.ts'

/** A target that notes what it is given, and does what the test says. */
export const notingTarget = (
  act: (batch: readonly ForwardedJob[], signal: AbortSignal) => unknown = batch => batch.map(({ id }) => id),
) => {
  const batches: ForwardedJob[][] = []
  const target = {
    isClosed: false,
    forward: async (batch: readonly ForwardedJob[], signal: AbortSignal) => {
      batches.push([...batch])
      return act(batch, signal) as Promise<string[] | ForwardOutcome>
    },
    close: () => {
      target.isClosed = true
    },
  }
  return { target, batches, jobs: () => batches.flat() }
}

/** A started forwarder on the redis-server of a test, stopped at its end. */
export const startForwarder = async (
  fixture: Fixture,
  options: Partial<ForwarderOptions> & Pick<ForwarderOptions, 'target'>,
): Promise<Forwarder> => {
  const { url: redis, namespace } = fixture
  const forwarder = new Forwarder({ name: 'billing', redis, namespace, logLevel: 'silent', ...options })
  fixture.onEnd(() => forwarder.stop({ graceMs: 500 }))
  await forwarder.start()
  return forwarder
}
