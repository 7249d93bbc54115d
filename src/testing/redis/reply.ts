/** What a command answers: null, a number, a text (of bytes, one character each), a status, an error, or a list of these. */
export type Reply = null | number | string | { readonly ok: string } | { readonly err: string } | readonly Reply[]

/** Texts in this Redis have one character for each byte, as `latin1` reads them: lengths are those of Redis, and nothing is lost. */
export const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
export const textOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8')

/** Answered as an error of Redis. */
export class RedisError extends Error {}

export const wrongType = (): RedisError =>
  new RedisError('WRONGTYPE Operation against a key holding the wrong kind of value')
export const syntaxError = (): RedisError => new RedisError('ERR syntax error')

export const ok: Reply = { ok: 'OK' }

export const isError = (reply: Reply): reply is { err: string } =>
  typeof reply === 'object' && reply !== null && 'err' in reply

/** As it goes over the wire, in RESP 2. */
export const encoded = (reply: Reply): string => {
  if (reply === null) return '$-1\r\n'
  if (typeof reply === 'number') return `:${reply}\r\n`
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if ('ok' in reply) return `+${reply.ok}\r\n`
  if ('err' in reply) return `-${reply.err.replaceAll(/[\r\n]+/g, ' ')}\r\n`
  return `*${reply.length}\r\n${reply.map(encoded).join('')}`
}

/** Takes what is whole off the bytes that came; the rest waits for more. */
export class CommandReader {
  #rest = ''

  /** @throws RedisError for what is no command */
  read(bytes: string): string[][] {
    const text = this.#rest + bytes
    const commands: string[][] = []
    let at = 0
    for (;;) {
      const parsed = commandAt(text, at)
      if (!parsed) break
      commands.push(parsed.words)
      at = parsed.end
    }
    this.#rest = text.slice(at)
    return commands
  }
}

const lineAt = (text: string, at: number, mark: string): { count: number; end: number } | undefined => {
  const end = text.indexOf('\r\n', at)
  if (end < 0) return undefined
  if (text[at] !== mark) throw new RedisError(`ERR Protocol error: expected '${mark}', got '${text[at]}'`)
  return { count: Number(text.slice(at + 1, end)), end: end + 2 }
}

const commandAt = (text: string, start: number): { words: string[]; end: number } | undefined => {
  const head = start < text.length ? lineAt(text, start, '*') : undefined
  if (!head) return undefined
  const words: string[] = []
  let at = head.end
  for (let count = 0; count < head.count; count++) {
    const length = lineAt(text, at, '$')
    if (!length || text.length < length.end + length.count + 2) return undefined
    words.push(text.slice(length.end, length.end + length.count))
    at = length.end + length.count + 2
  }
  return { words, end: at }
}
