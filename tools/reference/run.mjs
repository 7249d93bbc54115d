// npm run docs: the tables of PROTOCOL.md, and the API reference of pshub as Markdown, from the doc comments of what the package exports. Warns
// of nothing, or fails.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root, run } from '../prepare.mjs'
import { writeProtocol } from '../protocol.mjs'

const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'docs/reference') } } })
const folder = join(root, 'tools/reference')
const changedAt = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

prepare()
await writeProtocol()
if (changedAt(join(folder, 'node_modules/.package-lock.json')) < changedAt(join(folder, 'package-lock.json'))) {
  console.error('Installing what writes the reference (once) ...')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder })
}
run(process.execPath, [join(folder, 'node_modules/typedoc/bin/typedoc'), '--out', values.out], { cwd: folder })
