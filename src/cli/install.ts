import { serversOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { install, libraryName, libraryRevision } from '../redis/library.ts'
import { explained } from '../redis/refusals.ts'
import { describeTarget } from '../redis/target.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import { withRedis } from './redis-session.ts'

/** Each master of a Cluster has its own; its replicas follow it. */
const installOnAll = (client: Redis) =>
  Promise.all(serversOf(client).map(async server => ({ ...(await install(server)), node: server.node })))

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', installCommand, invocation, 'silent')
  const redis = describeTarget(settings.redis)
  const all = await withRedis(settings, connection => connection.send(installOnAll))
  for (const { node, revision, isFit, refusal } of all) {
    if (isFit) continue
    const why = refusal ? explained(refusal.message) : `it still has revision ${revision ?? 'none'}`
    throw new Error(`The library was not loaded into ${node ?? redis}: ${why}.`)
  }
  const isNew = all.some(each => each.isNew)
  const revision = Math.min(...all.map(each => each.revision!))
  if (flags.json !== undefined) output.json({ redis, library: libraryName, revision, isNew })
  else if (isNew) output.out.line(`${redis} has ${libraryName} now, revision ${revision}.`)
  else {
    const newer = revision > libraryRevision ? ', which is newer than that of this pshub' : ''
    output.out.line(`${redis} had ${libraryName} already, revision ${revision}${newer}.`)
  }
  return exitCodes.ok
}

export const installCommand: Command = {
  name: 'install',
  usage: 'install',
  summary: 'load the library of pshub into Redis',
  about: [
    'Loads the library of functions that hubs and workers need into Redis. You need this only if their Redis users ' +
      'may not load it: otherwise they load it themselves when it is missing or older.',
    'A newer revision replaces an older one, never the other way round, and work in flight is not disturbed. Redis ' +
      'keeps the library like data, in its files and on its replicas; FUNCTION FLUSH or an empty Redis loses it.',
  ],
  arity: { min: 0, max: 0 },
  options: [jsonOption],
  examples: [
    {
      line: 'pshub install --redis redis://admin:secret@redis.example',
      about: 'as a user who may (pshub check --for install)',
    },
  ],
  exitCodes: {
    0: 'the library is loaded',
    1: 'Redis refused it: this user lacks the right, or Redis is full or too old',
    2: 'the command line or a setting is wrong',
    3: 'Redis could not be reached',
  },
  run,
}
