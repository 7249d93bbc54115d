import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface Asset {
  type: string
  body: Buffer
  gzipped: Buffer
  etag: string
}

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const assetOf = (name: string, body: Buffer): Asset => ({
  type: types[extname(name)] ?? 'application/octet-stream',
  body,
  gzipped: gzipSync(body),
  etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
})

/** Where the build puts the pages, beside this module's own folder. */
const builtPages = join(import.meta.dirname, '../web')

/**
 * The pages' files: read once, served from memory by their exact names, so that no path a browser sends ever reaches the disk.
 * @throws Error when the pages were not built
 */
export const loadAssets = (folder: string = builtPages): { page: string; assets: ReadonlyMap<string, Asset> } => {
  if (!existsSync(join(folder, 'index.html')))
    throw new Error('The pages of the registry were not built; run `npm run build`.')
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const names = readdirSync(join(folder, 'assets'))
  return { page, assets: new Map(names.map(name => [name, assetOf(name, readFileSync(join(folder, 'assets', name)))])) }
}
