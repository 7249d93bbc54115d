/** Longer fragments are cut by chats and mail programs. */
const maxFragmentLength = 8_000
/** A short fragment can unpack to a lot; no arguments are longer than this. */
const maxTextLength = 1_048_576

/** Arguments as part of an address, `args=` or, packed, `packed=`; undefined when they are too large for one. */
export const argsToFragment = async (json: string): Promise<string | undefined> => {
  const plain = `args=${toBase64Url(new TextEncoder().encode(json))}`
  if (plain.length <= 500) return plain
  const packed = `packed=${toBase64Url(await through(json, new CompressionStream('deflate-raw')))}`
  const shorter = packed.length < plain.length ? packed : plain
  return shorter.length <= maxFragmentLength ? shorter : undefined
}

/**
 * The JSON text of arguments in an address; undefined when it holds none.
 * @throws Error with a message for people when it holds something else
 */
export const argsFromFragment = async (fragment: string): Promise<string | undefined> => {
  const parts = new URLSearchParams(fragment.replace(/^#/, ''))
  const [plain, packed] = [parts.get('args'), parts.get('packed')]
  if (plain === null && packed === null) return undefined
  try {
    const bytes = fromBase64Url(plain ?? packed!)
    const unpacked = plain === null ? await through(bytes, new DecompressionStream('deflate-raw')) : bytes
    return new TextDecoder('utf-8', { fatal: true }).decode(unpacked)
  } catch {
    throw new Error('The arguments in the address cannot be read; the address may be incomplete.')
  }
}

const through = async (
  data: string | Uint8Array<ArrayBuffer>,
  transform: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> => {
  const reader = new Blob([data]).stream().pipeThrough(transform).getReader()
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer())
    length += value.length
    if (length > maxTextLength) {
      void reader.cancel()
      throw new Error('too large')
    }
    chunks.push(value as Uint8Array<ArrayBuffer>)
  }
}

const toBase64Url = (bytes: Uint8Array): string => {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

const fromBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), char => char.charCodeAt(0))
