// What a benchmark needs beside what the project needs: the peers, which nobody else has to install.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, root, run } from '../../tools/prepare.mjs'

const folder = join(root, 'bench')
const changedAt = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

export const prepareBench = () => {
  prepare()
  if (changedAt(join(folder, 'node_modules/.package-lock.json')) >= changedAt(join(folder, 'package-lock.json'))) return
  console.error('Installing what pshub is measured beside (once) ...')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder })
}
