// Makes the two npm packages of this clone, and says how to install them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkNode, install, root, run } from './prepare.mjs'

checkNode()
console.log('Building pshub and pshub-registry; on a fresh clone this takes a minute or two.')
install()
run('npm', ['pack', '--workspaces', '--loglevel=error'], { stdio: ['ignore', 'ignore', 'inherit'] })
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const files = ['pshub', 'pshub-registry'].map(name => join(root, `${name}-${version}.tgz`))
console.log(`Done. In your project:\n  npm install ${files.join(' ')}`)
