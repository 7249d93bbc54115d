import { describe, expect, it } from 'vitest'
import { command, destroy, makeClient, type Redis } from '../../src/redis/client.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** What Node calls for each write to the system, with what was corked in one. */
type Stream = {
  _write(data: string | Buffer, ...rest: unknown[]): void
  _writev(data: { chunk: string | Buffer }[], ...rest: unknown[]): void
  destroy(): void
}
const streamOf = (client: Redis) => (client as unknown as { stream: Stream }).stream

/** A client as hubs and workers use it, and what it writes from now on. */
const connected = async () => {
  const client = makeClient(it_.url, 'test')
  client.on('error', () => undefined)
  await client.connect()
  it_.onEnd(() => destroy(client, new Error('over')))
  const stream = streamOf(client)
  const written: string[] = []
  const { _write: write, _writev: writev } = stream
  stream._write = (data, ...rest) => {
    written.push(String(data))
    write.call(stream, data, ...rest)
  }
  stream._writev = (data, ...rest) => {
    written.push(data.map(({ chunk }) => String(chunk)).join(''))
    writev.call(stream, data, ...rest)
  }
  return { client, stream, written, key: `${it_.namespace}:key` }
}

describe('a client', () => {
  it('has TCP ask for a sign of life after 30 s of rest, which ioredis does unless it is told otherwise', async () => {
    expect((await connected()).client.options.keepAlive).toBe(30_000)
  })

  it('writes the commands of one tick at once, in their order', async () => {
    const { client, written, key } = await connected()
    const answers = Promise.all([client.rpush(key, 'a'), command(client, 'rpush', key, 'b'), client.lrange(key, 0, -1)])
    expect(written).toEqual([])
    expect(await answers).toEqual([1, 2, ['a', 'b']])
    expect(written).toHaveLength(1)
    await client.del(key)
    expect(written).toHaveLength(2)
  })

  it('writes long commands before the tick ends, each text as it is', async () => {
    const { client, written, key } = await connected()
    const texts = ['x'.repeat(40_000), 'größer €😀'.repeat(4000), 'x'.repeat(50_000), 'ÿ'.repeat(70_000), 'plain']
    const pushed = texts.map(text => command(client, 'rpush', key, text))
    expect(written).toHaveLength(2)
    expect(await Promise.all(pushed)).toEqual([1, 2, 3, 4, 5])
    expect(written).toHaveLength(3)
    expect(await command(client, 'lrange', key, 0, -1)).toEqual(texts)
    await client.del(key)
  })

  it('lets no pipeline, transaction or binary argument overtake what was sent before it', async () => {
    const { client, key } = await connected()
    const answers = await Promise.all([
      client.rpush(key, 'first'),
      client.pipeline().rpush(key, 'second').rpush(key, 'third').exec(),
      client.rpush(key, 'fourth'),
      client.rpush(key, Buffer.from([0xff, 0])),
      client.rpush(key, 'sixth'),
      client.multi().llen(key).lpop(key).exec(),
      client.llen(key),
    ])
    expect(answers).toEqual([1, [[null, 2], [null, 3]], 4, 5, 6, [[null, 6], [null, 'first']], 5]) // biome-ignore format: one line an answer would hide the order
    await client.del(key)
  })

  it('rejects what it could not write any more', async () => {
    const { client, stream, key } = await connected()
    const sent = failure(client.rpush(key, 'a'))
    stream.destroy()
    expect(await sent).toBeInstanceOf(Error)
    expect(await failure(client.rpush(key, 'b'))).toBeInstanceOf(Error)
    expect(await it_.redis.exists(key)).toBe(0)
  })
})

describe('a command', () => {
  it('takes whatever its arguments hold', async () => {
    const { client, key } = await connected()
    const texts = ['', 'plain', '"Zoë 💚"\r\n$3\r\n', '\ud800', 'x'.repeat(100_000)]
    expect(await command(client, 'rpush', key, 'ä', 1.5, ...texts, 7)).toBe(8)
    const written = ['ä', '1.5', ...texts.map(text => text.replace('\ud800', '\ufffd')), '7']
    expect(await it_.redis.lrange(key, 0, -1)).toEqual(written)
    await client.del(key)
  })

  it('rejects with the answer of a server that refuses it, and lets those behind it through', async () => {
    const { client, written, key } = await connected()
    await client.set(key, 'text')
    written.length = 0
    const refused = failure(command(client, 'rpush', key, 'a'))
    const behind = command(client, 'get', key)
    expect((await refused).message).toMatch(/^WRONGTYPE/)
    expect(await behind).toBe('text')
    expect(written).toHaveLength(1)
    await client.del(key)
  })

  it('under way is rejected when its connection breaks', async () => {
    const { client, stream, key } = await connected()
    const ahead = command(client, 'time')
    const broken = failure(command(client, 'blpop', key, 5))
    await ahead
    stream.destroy()
    expect(await broken).toBeInstanceOf(Error)
  })
})
