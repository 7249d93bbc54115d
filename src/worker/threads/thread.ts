// What the threads of a pool run. It is loaded by its name (thread-pool.ts), not imported.
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { contractsIn, tasksIn } from '../../task/exported.ts'
import type { Task } from '../../task/task.ts'
import { messageOf, TaskError } from '../../wire/errors.ts'
import { refused } from '../../wire/failures.ts'
import { PayloadProblem } from '../../wire/json/json-value.ts'
import { encodePayload } from '../../wire/payload.ts'
import { isYielding } from '../../wire/returned.ts'
import { readAll, unread } from '../answers/yielded.ts'
import { packError } from './carried-error.ts'
import type { FromThread, ThreadOutcome, ThreadRequest, ToThread } from './messages.ts'
import { ThreadChunks } from './thread-chunks.ts'
import { ThreadContext } from './thread-context.ts'

// A promise that nobody awaits costs no run, as in `pshub worker`. It may be of a run that ended long ago.
process.on('unhandledRejection', reason => parentPort?.postMessage(`A promise was rejected: ${messageOf(reason)}`))

/** Runs one request, which lies in the port already. Never rejects. */
export default async ({ port }: { port: MessagePort }): Promise<ThreadOutcome> => {
  const request: ThreadRequest = receiveMessageOnPort(port)!.message
  const tell = (message: FromThread) => port.postMessage(message)
  const context = new ThreadContext(request, port)
  const chunks = new ThreadChunks(tell, value => encodedChunk(request, value))
  port.on('message', (message: ToThread) => {
    context.heard(message)
    chunks.heard(message)
  })
  tell({ is: 'begun' })
  let exported: object
  try {
    exported = await import(request.module)
  } catch (error) {
    tell({ is: 'unfit', reason: `${request.module} failed while loading in a thread: ${messageOf(error)}` })
    // A module that failed once fails in this thread for ever. Until it is ended it must not be given another run.
    return new Promise(() => undefined)
  }
  try {
    const value = taskOf(request, exported).handler(request.args, context)
    if (isYielding(value)) {
      tell({ is: 'yields' })
      return outcomeOf(await readAll(value, context.signal, chunks))
    }
    const result = await value
    if (isYielding(result)) throw unread(request)
    return outcomeOf(result)
  } catch (thrown) {
    return { is: 'error', error: packError(thrown) }
  }
}

const taskOf = ({ task: name, module }: ThreadRequest, exported: object): Task => {
  const task = tasksIn(exported).find(({ name: { full } }) => full === name)
  if (task) return task
  const isContract = contractsIn(exported).some(({ name: { full } }) => full === name)
  const hint = isContract
    ? 'It exports only the contract: pass .handler() the module that exports its return value.'
    : 'Export what defineTask returned.'
  throw new TaskError(`${module} does not export ${name}, so no thread can run it. ${hint}`)
}

/** As it would be in the main thread, which holds it to its limits. */
const encodedChunk = ({ task, id }: ThreadRequest, value: unknown): string => {
  try {
    return encodePayload(value === undefined ? null : value)
  } catch (error) {
    if (!(error instanceof PayloadProblem)) throw error
    throw refused('InvalidResult', [error.problem], { task, id })
  }
}

/** JSON, as it would be in the main thread: what structured cloning makes of a class with a toJSON is something else. */
const outcomeOf = (value: unknown): ThreadOutcome => {
  if (value === undefined) return { is: 'result', result: undefined }
  try {
    return { is: 'result', result: encodePayload(value) }
  } catch (error) {
    if (error instanceof PayloadProblem) return { is: 'problem', problem: error.problem }
    throw error
  }
}
