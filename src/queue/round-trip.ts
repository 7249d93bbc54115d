import type { Connection, Place } from '../redis/connection.ts'
import { NotConnected } from '../redis/failures.ts'

/**
 * Where requests go and where their answers come back: on a Cluster two nodes. What could not be answered is not sent: it would run,
 * and its caller would hear of a timeout.
 */
export const roundTrip = (commands: Connection, calls: string, blocking: Connection, replies: string): Place => {
  const there = commands.at(calls)
  const back = blocking.at(replies)
  // On one server the answers wait where the requests do: one that is there for the one is there for the other.
  const isBack = () => !blocking.isCluster || back.isReady
  return {
    get isReady() {
      return there.isReady && isBack()
    },
    get downReason() {
      return there.downReason ?? (isBack() ? undefined : back.downReason)
    },
    async whenReady(signal) {
      await there.whenReady(signal)
      if (!isBack()) await back.whenReady(signal)
    },
    send(commandsOf) {
      if (isBack()) return there.send(commandsOf)
      return Promise.reject(
        new NotConnected(back.downReason?.message ?? 'the node of the replies is not connected yet'),
      )
    },
  }
}
