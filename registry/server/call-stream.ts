import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CallOptions, type Hub, stringifyExact } from 'pshub'
import type { StreamedPart } from '../call-contract.ts'
import type { ApiError } from '../contract.ts'

/** How the parts are written: as server-sent events, or a line of JSON each. */
interface Form {
  readonly type: string
  write(part: StreamedPart): string
  /** What keeps proxies in between from taking the connection for dead, and readers pass over. */
  readonly sign: string
}

const forms: Form[] = [
  {
    type: 'text/event-stream',
    write: part => {
      const [name, value] = Object.entries(part)[0]!
      const data = name === 'result' || name === 'error' ? part : value
      return `event: ${name}\ndata: ${stringifyExact(data ?? null)}\n\n`
    },
    sign: ': \n\n',
  },
  { type: 'application/x-ndjson', write: part => `${stringifyExact(part)}\n`, sign: '\n' },
]
/** Media types in which chunks come. */
export const streamTypes: readonly string[] = forms.map(({ type }) => type)
/** So long a call may fail with a status of its own. Then its answer begins, though nothing has come: proxies wait for no more than that. */
const silentMs = 2000
const signMs = 15_000

/** The form in which somebody wants a call's chunks as they come; undefined: the whole result is wanted. */
export const streamForm = ({ headers }: FastifyRequest): Form | undefined => {
  const accepted = (headers.accept ?? '').split(',').map(each => each.split(';')[0]!.trim().toLowerCase())
  return forms.find(({ type }) => accepted.includes(type))
}

interface Streamed {
  task: string
  args: unknown
  options: Omit<CallOptions, 'phases'>
  form: Form
  reply: FastifyReply
  problemOf(failure: unknown): ApiError
}

/**
 * Calls a task and writes what it yields as it comes, no faster than it is read. Rejects as the stream does: before anything was written with
 * nothing sent, behind that with the failure as the last part.
 */
export const sendStream = async (
  hub: Hub,
  { task, args, options, form, reply, problemOf }: Streamed,
): Promise<void> => {
  const { raw } = reply
  let signs: NodeJS.Timeout | undefined
  const begin = () => {
    if (reply.sent) return
    open(reply, form)
    signs = setInterval(() => raw.write(form.sign), signMs)
  }
  const silent = setTimeout(() => {
    begin()
    raw.write(form.sign)
  }, silentMs)
  const write = (part: StreamedPart): boolean => {
    clearTimeout(silent)
    begin()
    return raw.destroyed || raw.write(form.write(part))
  }
  const stream = hub.stream(task, args, { ...options, onProgress: progress => void write({ progress }) })
  try {
    for (;;) {
      const step = await stream.next()
      if (step.done) {
        write({ result: step.value ?? null, id: stream.id, phases: stream.phases })
        return
      }
      if (!write({ chunk: step.value }) && !raw.destroyed) await drained(raw, options.signal!)
    }
  } catch (error) {
    if (reply.sent) write({ error: problemOf(error) })
    throw error
  } finally {
    clearTimeout(silent)
    clearInterval(signs)
    if (reply.sent) raw.end()
  }
}

/** Resolves when more may be written, or the client is gone. */
const drained = async (raw: FastifyReply['raw'], signal: AbortSignal): Promise<void> => {
  await once(raw, 'drain', { signal }).catch(() => undefined)
}

const open = (reply: FastifyReply, { type }: Form): void => {
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  // What compresses answers on the way would hold back the small ones.
  const headers = { 'content-type': type, 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }
  reply.raw.writeHead(200, headers)
}
