import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../tools/prepare.mjs'
import { type LockedPackage, ofProduction, oldestNode, tooNew } from '../support/engines.ts'

const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const locked: Record<string, LockedPackage> = read('package-lock.json').packages

describe('the oldest Node that is promised', () => {
  it.each(['package.json', 'registry/package.json'])('is that of %s', name => {
    expect(read(name).engines).toEqual({ node: `>=${oldestNode.replace(/\.0$/, '')}` })
  })

  it('is enough for every package that users install along', () => {
    const packages = ofProduction(locked)
    for (const name of ['ioredis', 'pino', 'ajv', 'piscina', 'fastify', 'light-my-request'])
      expect(packages).toHaveProperty([`node_modules/${name}`])
    expect(tooNew(packages)).toEqual([])
  })

  it('would be seen to be too old', () => {
    const packages = { 'node_modules/cookie': { version: '2.0.2', engines: { node: '>=22' } } }
    expect(tooNew(packages)).toEqual(['node_modules/cookie 2.0.2 wants Node >=22'])
    // Some of those who develop only do want a newer one, and are left out.
    expect(tooNew(locked).length).toBeGreaterThan(0)
  })
})
