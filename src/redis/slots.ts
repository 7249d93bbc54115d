/** CRC-16/XMODEM, by the byte: the hash of keys on a Cluster (redis.io, "Redis cluster specification", appendix A). */
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  return crc
})

export const crc16 = (bytes: Uint8Array): number => {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ table[((crc >> 8) ^ byte) & 0xff]!) & 0xffff
  return crc
}

/** How many slots the keys of a Cluster are spread over. */
export const slotCount = 16_384

/** What is kept here is few: queues, hubs and the registry's keys. */
const maxKept = 10_000
const known = new Map<string, number>()

/** The slot of a key: that of what stands between the first `{` and the next `}`, if anything does. */
export const slotOf = (key: string): number => {
  const tag = tagOf(key)
  const kept = known.get(tag)
  if (kept !== undefined) return kept
  const slot = crc16(Buffer.from(tag)) % slotCount
  if (known.size >= maxKept) known.clear()
  known.set(tag, slot)
  return slot
}

const tagOf = (key: string): string => {
  const start = key.indexOf('{')
  const end = start < 0 ? -1 : key.indexOf('}', start + 1)
  return end > start + 1 ? key.slice(start + 1, end) : key
}

/**
 * A key of the same queue that nobody ever makes, as the last one of a function's: while a slot moves to another node, Redis answers
 * TRYAGAIN or ASK when a key that is named is not there, instead of running a function with some of a queue's keys (those that it
 * does not name are looked for only while it runs). Undefined for a key that is not one of a queue's.
 */
const absentKey = (key: string): string | undefined => {
  const end = key.indexOf('}:')
  return end < 0 ? undefined : `${key.slice(0, end)}}:moving`
}

/** fcall, function, number of keys, keys, arguments: one key more. */
export const withAbsent = (
  key: string,
  [name, count, ...rest]: readonly (string | number)[],
): readonly (string | number)[] => {
  const absent = absentKey(key)
  if (absent === undefined) return [name!, count!, ...rest]
  const keys = Number(count)
  return [name!, keys + 1, ...rest.slice(0, keys), absent, ...rest.slice(keys)]
}

/** Words without a key: about the server, or about the connection. */
const keyless = new Set(
  'acl asking auth client cluster command config dbsize function hello info latency memory ping role scan script time wait'.split(
    ' ',
  ),
)

/** The key that decides where a command goes; undefined: it has none. Those that name several name keys of one slot. */
export const keyOf = (name: string, args: readonly (string | number)[]): string | undefined => {
  const word = name.toLowerCase()
  if (keyless.has(word)) return undefined
  const key = word === 'fcall' ? (Number(args[1]) > 0 ? args[2] : undefined) : args[0]
  return key === undefined ? undefined : String(key)
}
