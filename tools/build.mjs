// Builds dist/ from src/: compiled modules with their types, and beside them what is used as it is: Lua and a thread.
import { chmodSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyScripts } from './copy-scripts.mjs'
import { install, root, run } from './prepare.mjs'

install()
rmSync(join(root, 'dist'), { recursive: true, force: true })
run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'])
cpSync(join(root, 'src/lua'), join(root, 'dist/lua'), { recursive: true })
copyScripts()
cpSync(join(root, 'src/roles/keepalive-thread.mjs'), join(root, 'dist/roles/keepalive-thread.mjs'))
const bin = join(root, 'dist/cli/main.js')
if (existsSync(bin)) chmodSync(bin, 0o755)
writeFileSync(join(root, 'dist/.built'), '')
