import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Catalogue } from '../../src/catalogue/catalogue.ts'
import { readOverview } from '../../src/catalogue/overview.ts'
import { defineTask } from '../../src/index.ts'
import { findAll } from '../../src/jobs/job-details.ts'
import { readJobs } from '../../src/jobs/lists/listing.ts'
import { destroy, makeClient, type Redis } from '../../src/redis/client.ts'
import { type Keys, makeKeys } from '../../src/wire/keys.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** A client that breaks while its command of this number, and those sent with it, are under way. */
const breakingAt = async (number: number) => {
  const client = makeClient(it_.url, 'test')
  client.on('error', () => undefined)
  await client.connect()
  const breaks = () => destroy(client, new Error('broken'))
  const send = client.sendCommand.bind(client)
  let sent = 0
  client.sendCommand = (...words) => {
    const answer = send(...words)
    if (++sent === number) process.nextTick(breaks)
    return answer
  }
  return { client, breaks, hasBroken: () => sent >= number }
}

const readings: Record<string, (client: Redis, keys: Keys) => Promise<unknown>> = {
  'the overview': readOverview,
  'jobs that wait': (client, keys) => readJobs(client, new Catalogue(keys), keys, { state: 'waiting' }),
  'jobs that are dead': (client, keys) => readJobs(client, new Catalogue(keys), keys, { state: 'dead' }),
  'jobs that are over': (client, keys) => readJobs(client, new Catalogue(keys), keys, { state: 'done' }),
  'one job': (client, keys) => findAll(client, keys, 'a', {}),
}

describe('a connection that breaks while', () => {
  // A promise that fails with nobody looking ends the process: that of the registry, for one.
  it.each(Object.entries(readings))('%s is read fails that and nothing else', async (_, read) => {
    it_.allowLeftovers()
    const keys = makeKeys(it_.namespace)
    await it_.worker([defineTask('echo:1.0', {}, args => args)])
    await it_.hub().enqueue('echo:1.0', 1, { keepResultMs: 1000 })
    const unseen: unknown[] = []
    const note = (reason: unknown) => unseen.push(reason)
    process.on('unhandledRejection', note)
    try {
      for (let number = 1; ; number++) {
        const { client, breaks, hasBroken } = await breakingAt(number)
        const error = await read(client, keys).then(
          () => undefined,
          error => error,
        )
        await setImmediate()
        breaks()
        if (!hasBroken()) break
        expect(error).toBeInstanceOf(Error)
      }
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(unseen).toEqual([])
  })
})
