import { describe, expect, it } from 'vitest'
import { command, destroy, makeClient, type Redis } from '../../src/client.ts'
import { Preset, Volley } from '../../src/volley.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

type Stream = { write(data: string | Buffer): boolean; destroy(): void }
const streamOf = (client: Redis) => (client as unknown as { stream: Stream }).stream

/** A client as hubs and workers use it, and what it writes from now on. */
const connected = async () => {
  const client = makeClient(it_.url, 'test')
  client.on('error', () => undefined)
  await client.connect()
  it_.onEnd(() => destroy(client, new Error('over')))
  const stream = streamOf(client)
  const written: string[] = []
  const write = stream.write.bind(stream)
  stream.write = data => {
    written.push(String(data))
    return write(data)
  }
  return { client, stream, written, key: `${it_.namespace}:key` }
}

describe('a client', () => {
  it('writes the commands of one tick at once, in their order', async () => {
    const { client, written, key } = await connected()
    const answers = Promise.all([client.rpush(key, 'a'), command(client, 'rpush', key, 'b'), client.lrange(key, 0, -1)])
    expect(written).toEqual([])
    expect(await answers).toEqual([1, 2, ['a', 'b']])
    expect(written).toHaveLength(1)
    await client.del(key)
    expect(written).toHaveLength(2)
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

describe('a preset', () => {
  it('is the command with further arguments, whatever they hold', async () => {
    const { client, key } = await connected()
    const texts = ['', 'plain', '"Zoë 💚"\r\n$3\r\n', '\ud800', 'x'.repeat(100_000)]
    const push = new Preset('rpush', key, 'ä', 1.5)
    expect(await push.send(client, [...texts, 7, -1e21])).toBe(9)
    expect(await push.send(client, [])).toBe(11)
    const written = ['ä', '1.5', ...texts.map(text => text.replace('\ud800', '\ufffd')), '7', '-1e+21', 'ä', '1.5']
    expect(await it_.redis.lrange(key, 0, -1)).toEqual(written)
    await client.del(key)
  })

  it('rejects with the answer of a server that refuses it', async () => {
    const { client, key } = await connected()
    await client.set(key, 'text')
    expect((await failure(new Preset('rpush', key).send(client, ['a']))).message).toMatch(/^WRONGTYPE/)
    await client.del(key)
  })
})

describe('a volley', () => {
  it('is one write, and brings the answers of all its commands in their order, refusals among them', async () => {
    const { client, written, key } = await connected()
    const push = new Preset('rpush', key)
    const get = new Preset('get', key)
    const all = new Volley(client)
      .add(push, ['a', 'ä'])
      .add(get)
      .add(new Preset('lrange', key, 0), [-1])
      .add(new Preset('time'))
    const [pushed, refused, listed, time] = await all.answers
    expect(written).toHaveLength(1)
    expect(pushed).toBe(2)
    expect((refused as Error).message).toMatch(/^WRONGTYPE/)
    expect(listed).toEqual(['a', 'ä'])
    expect(time).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)])
    await client.del(key)
  })

  it('is the same on a client of another kind', async () => {
    const key = `${it_.namespace}:key`
    const push = new Preset('rpush', key)
    const answers = await new Volley(it_.redis).add(push, ['a']).add(new Preset('get', key)).answers
    expect(answers).toEqual([1, expect.objectContaining({ message: expect.stringMatching(/^WRONGTYPE/) })])
    await it_.redis.del(key)
  })

  it('is rejected as a whole when its connection breaks, or is gone', async () => {
    const { client, stream, key } = await connected()
    const wait = new Preset('blpop', key, 5)
    const broken = failure(new Volley(client).add(new Preset('time')).add(wait).answers)
    await new Promise(resolve => setTimeout(resolve, 50))
    stream.destroy()
    expect(await broken).toBeInstanceOf(Error)
    expect((await failure(new Volley(client).add(wait).answers)).message).toBe('the connection is not ready')
    expect((await failure(wait.send(client))).message).toBe('the connection is not ready')
  })
})
