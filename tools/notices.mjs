// The licences of packages whose code a build puts into its own files: they must go where that goes.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { root } from './prepare.mjs'

const noticeOf = folder => {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find(each => /^licen[cs]e(\.\w+)?$/i.test(each))
  if (license === undefined && file === undefined) throw new Error(`${name} does not say under which licence it is.`)
  // Some bring no text.
  const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `Copyright ${author?.name ?? author ?? name}`
  return `${name} ${version} (${license})\n\n${text}\n`
}

/**
 * Writes them into a folder.
 * @param inputs paths of all files that were put in; those in node_modules count
 */
export const writeNotices = (folder, inputs) => {
  const packages = inputs
    .map(input => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(resolve(root, input))?.[1])
    .filter(path => path !== undefined)
  const notices = [...new Set(packages)].sort().map(noticeOf)
  const title = 'The files of this folder contain code of these packages.\n\n'
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), title + notices.join(`\n${'-'.repeat(80)}\n\n`))
}
