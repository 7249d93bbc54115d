import type { Redis } from 'ioredis'
import { run } from '../../src/redis/library.ts'
import { queueKeys } from './queue-keys.ts'

/** As much as one answer may be. */
export const maxBytes = 1_000_000

/** What is sent for the functions of a worker, in the order in which PROTOCOL.md has it. */
export const functionCalls = (server: { namespace: string; redis: Redis }) => {
  const keys = () => queueKeys(server)
  const beatOf = ([id, leaseMs, isNew, memoryMs, reportsMs = 0]: (string | number)[]) => {
    const { leases, cancelled, reporter, calls, paused } = keys()
    const args = [id!, leaseMs!, isNew!, memoryMs!, reportsMs]
    return run(server.redis, 'beat', [leases, cancelled, reporter, calls, paused], args)
  }

  const claimKeys = (worker: string) => {
    const { calls, bell, held, leases, jobs, jobBell } = keys()
    return [calls, bell, held(worker), leases, jobs, jobBell]
  }
  const handbackKeys = (worker: string) => {
    const { calls, bell, held, jobs, jobBell } = keys()
    return [held(worker), calls, bell, jobs, jobBell]
  }
  const adoptKeys = (lost: string, worker: string) => {
    const { leases, held, calls, bell, jobs, jobBell } = keys()
    return [leases, held(lost), held(worker), calls, bell, jobs, jobBell]
  }
  const leaveOf = (worker: string) => {
    const { calls, bell, held, leases, jobs, jobBell, reporter } = keys()
    const leaveKeys = [held(worker), calls, bell, leases, jobs, jobBell, reporter]
    return run(server.redis, 'leave', leaveKeys, [worker])
  }
  return { keys, beatOf, claimKeys, handbackKeys, adoptKeys, leaveOf }
}
