// Builds dist/ from src/, and registry/dist/, the package pshub-registry: compiled modules with their types, what goes into them as text
// (embed.mjs), and the registry's pages.
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, root, run } from './prepare.mjs'

install()
const { embed } = await import('./embed.mjs')
const { joinModules } = await import('./join-modules.mjs')
const { writeProtocol } = await import('./protocol.mjs')
for (const folder of ['dist', 'registry/dist']) rmSync(join(root, folder), { recursive: true, force: true })
const node = (script, ...args) => run(process.execPath, [join(root, 'node_modules', script), ...args])
node('typescript/bin/tsc', '-p', 'tsconfig.build.json')
await embed(join(root, 'dist'))
const { libraryParts } = await import('../dist/redis/library.js')
writeFileSync(join(root, 'src/queue/lua/parts.json'), `${JSON.stringify(libraryParts(), null, 2)}\n`)
await writeProtocol()
await joinModules(join(root, 'dist'))
// After the library, because it is compiled against the library's public types.
node('typescript/bin/tsc', '-p', 'registry/tsconfig.json')
node('vite/bin/vite.js', 'build', '--logLevel', 'warn', '--config', 'registry/web/vite.config.mjs')
const bin = join(root, 'dist/cli/main.js')
if (existsSync(bin)) chmodSync(bin, 0o755)
writeFileSync(join(root, 'dist/.built'), '')
