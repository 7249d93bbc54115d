// npm run soak -- --minutes 20: a caller, two workers and a Redis under mixed load; whether memory, handles and keys stay level.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'
import { judge } from './level.mjs'

prepare()
const { startServer } = await import('../../tools/redis-server.mjs')
const { Redis } = await import('ioredis')
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '20' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) {
  console.error(`--minutes must be a number above 0; it is '${values.minutes}'.`)
  process.exit(2)
}
const sampleCount = 40
const server = await startServer()
const redis = new Redis(server.url)

const start = async role => {
  const child = fork(new URL('member.mjs', import.meta.url), [role, server.url], { execArgv: ['--expose-gc'] })
  await once(child, 'message')
  return { name: role, child, samples: [] }
}
const members = [await start('worker'), await start('worker'), await start('caller')]
const ofRedis = []

const numberIn = (info, name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)[1])
let calls = 0
for (let at = 0; at < sampleCount; at++) {
  await sleep((minutes * 60_000) / sampleCount)
  for (const member of members) {
    member.child.send('tell')
    const [told] = await once(member.child, 'message')
    member.samples.push(told.sample)
    calls = Math.max(calls, told.calls)
  }
  const memory = numberIn(await redis.info('memory'), 'used_memory') / 1e6
  ofRedis.push({ 'keys in Redis': await redis.dbsize(), 'memory of Redis, MB': memory })
}

const judged = [...members.map(({ name, samples }) => [name, samples]), ['redis', ofRedis]]
console.log(`${calls} calls in ${minutes} minutes\n`)
console.log('| what | second fifth | last fifth | |\n| --- | --- | --- | --- |')
let isLevel = calls > 0
for (const [name, samples] of judged)
  for (const row of judge(samples)) {
    isLevel &&= row.isLevel
    const cells = [`${name}: ${row.measure}`, row.before.toFixed(1), row.after.toFixed(1), row.isLevel ? '' : 'grows']
    console.log(`| ${cells.join(' | ')} |`)
  }
for (const { child } of members) child.kill('SIGKILL')
redis.disconnect()
await server.stop()
console.log(isLevel ? '\nAll of it stays level.' : '\nSomething grows, or nothing was called.')
process.exit(isLevel ? 0 : 1)
