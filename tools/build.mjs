// Builds dist/ from src/ and registry/: compiled modules with their types, beside them what is used as it is (Lua, and what a thread runs),
// and the registry's pages.
import { chmodSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, root, run } from './prepare.mjs'
import { writeLibrary } from './write-library.mjs'

install()
rmSync(join(root, 'dist'), { recursive: true, force: true })
const node = (script, ...args) => run(process.execPath, [join(root, 'node_modules', script), ...args])
node('typescript/bin/tsc', '-p', 'tsconfig.build.json')
cpSync(join(root, 'src/queue/lua'), join(root, 'dist/queue/lua'), { recursive: true })
await writeLibrary()
for (const module of ['worker/roles/keepalive-thread.mjs', 'worker/main-stack.mjs'])
  cpSync(join(root, 'src', module), join(root, 'dist', module))
// After the library, because it is compiled against the library's public types.
node('typescript/bin/tsc', '-p', 'registry/tsconfig.json')
node('vite/bin/vite.js', 'build', '--logLevel', 'warn', '--config', 'registry/web/vite.config.mjs')
const bin = join(root, 'dist/cli/main.js')
if (existsSync(bin)) chmodSync(bin, 0o755)
writeFileSync(join(root, 'dist/.built'), '')
