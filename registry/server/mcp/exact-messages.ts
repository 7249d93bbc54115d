import type { ServerResponse } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { parseExact, stringifyExact, toMarks, withoutMarks } from 'pshub'
import { isObject } from './schema-parts.ts'
import type { Sdk } from './sdk.ts'

/*
 * The SDK reads and writes messages with JSON.parse and JSON.stringify, which round. Numbers in arguments and results pass here as they were
 * written.
 */

/** A message, or several, with the arguments of tools as they are in `exact`, the same message read by parseExact. */
export const withExactArguments = <T>(message: T, exact: unknown): T => {
  if (Array.isArray(message) && Array.isArray(exact))
    return message.map((each, at) => withExactArguments(each, exact[at])) as T
  if (!isObject(message) || !isObject(message.params) || !isObject(exact) || !isObject(exact.params)) return message
  const { arguments: given } = exact.params
  return given === undefined ? message : { ...message, params: { ...message.params, arguments: given } }
}

/** Has a transport of the SDK write exact numbers, as marks that the response to its client makes numbers again. */
export const sendMarks = (transport: Transport): void => {
  const send = transport.send.bind(transport)
  transport.send = (message, options) => send(toMarks(message) as JSONRPCMessage, options)
}

/** Makes marks numbers, wherever this response writes. */
export const writeExact = (response: ServerResponse): void => {
  for (const name of ['write', 'end'] as const) {
    const original = response[name].bind(response) as (...given: unknown[]) => never
    response[name] = ((chunk: unknown, ...rest: unknown[]) => original(unmarked(chunk), ...rest)) as never
  }
  // The SDK declares the length of a short answer, in which it counts the marks: its client would wait for the rest.
  const writeHead = response.writeHead.bind(response) as (...given: unknown[]) => never
  response.writeHead = ((...given: unknown[]) => writeHead(...given.map(withoutLength))) as never
}

const withoutLength = (given: unknown): unknown =>
  isObject(given)
    ? Object.fromEntries(Object.entries(given).filter(([name]) => name.toLowerCase() !== 'content-length'))
    : given

/** Bytes are read as latin1, which keeps each of them, for they may end within a character. */
const unmarked = (chunk: unknown): unknown => {
  if (typeof chunk === 'string') return withoutMarks(chunk)
  if (!(chunk instanceof Uint8Array)) return chunk
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
  const plain = withoutMarks(text)
  return plain === text ? chunk : Buffer.from(plain, 'latin1')
}

/** A line of JSON for each message, as the SDK's own transport has it. */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage']
  onerror?: (error: Error) => void
  onclose?: () => void
  readonly #parse: (value: unknown) => JSONRPCMessage
  readonly #input: Readable
  readonly #output: Writable
  #rest: Buffer[] = []

  constructor({ types }: Sdk, input: Readable = process.stdin, output: Writable = process.stdout) {
    this.#parse = value => types.JSONRPCMessageSchema.parse(value)
    this.#input = input
    this.#output = output
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#onData)
    this.#input.on('error', this.#onError)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#output.write(`${stringifyExact(message)}\n`)) return
    await new Promise<void>(resolve => this.#output.once('drain', resolve))
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#onData)
    this.#input.off('error', this.#onError)
    if (this.#input.listenerCount('data') === 0) this.#input.pause()
    this.#rest = []
    this.onclose?.()
  }

  readonly #onError = (error: Error): void => this.onerror?.(error)

  readonly #onData = (chunk: Buffer): void => {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#rest, chunk.subarray(from, end)]).toString('utf8')
      this.#rest = []
      from = end + 1
      this.#heard(line)
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from))
  }

  #heard(line: string): void {
    try {
      this.onmessage?.(withExactArguments(this.#parse(JSON.parse(line)), parseExact(line)))
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }
}
