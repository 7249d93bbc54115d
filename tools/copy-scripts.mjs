// The Lua scripts as they are, to the byte, into the packages of other languages (PROTOCOL.md, section 13).
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const packages = ['clients/python/src/pshub/queue', 'clients/ruby/lib/pshub/queue']

export const copyScripts = () => {
  for (const folder of packages.map(name => join(root, name)).filter(existsSync)) {
    const target = join(folder, 'lua')
    rmSync(target, { recursive: true, force: true })
    mkdirSync(target)
    cpSync(join(root, 'src/queue/lua'), target, { recursive: true })
  }
}
