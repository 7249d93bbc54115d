// What the code in README and docs speaks of without making it, for the compiler; test/support/run-snippet.mjs has it for those who run it.
import type { ServerResponse } from 'node:http'
import type * as pshub from 'pshub'

interface Box {
  width: number
  height: number
  box: number
}

declare global {
  const hub: pshub.Hub
  const worker: pshub.Worker
  const redis: string
  const defineTask: typeof pshub.defineTask
  const TaskError: typeof pshub.TaskError
  const HubError: typeof pshub.HubError
  type HubError = pshub.HubError
  const Worker: typeof pshub.Worker
  const resize: pshub.Task<Box, { width: number; height: number }>
  const report: pshub.Task
  const args: Box
  const body: unknown
  const id: number
  const options: object
  const request: { headers: Record<string, string>; signal: AbortSignal }
  const response: ServerResponse
  const url: string
  const scale: (...given: unknown[]) => { width: number; height: number }
  const slowest: { offer(...given: unknown[]): void }
  const show: (...given: unknown[]) => void
  const showGap: (...given: unknown[]) => void
}
