import { join } from 'node:path'
import { defineConfig } from 'vite'
import { writeNotices } from '../../tools/notices.mjs'

const outDir = join(import.meta.dirname, '../dist/web')

/** Of the pages, and of what runs beside them: all files that are put in. */
const inputs = new Set()
const collected = {
  name: 'collected inputs',
  generateBundle(_options, bundle) {
    for (const { moduleIds = [] } of Object.values(bundle)) for (const id of moduleIds) inputs.add(id)
  },
}
/** Vite would warn, and give the pages an empty module. */
const noNode = {
  name: 'no modules of Node',
  enforce: 'pre',
  resolveId(id, importer) {
    if (id.startsWith('node:')) throw new Error(`${importer} imports ${id}, which browsers do not have.`)
  },
}
const notices = { name: 'notices', closeBundle: () => writeNotices(outDir, [...inputs]) }

export default defineConfig({
  root: import.meta.dirname,
  // The service puts its base path in.
  base: './',
  plugins: [noNode, collected, notices],
  worker: { plugins: () => [noNode, collected] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    // No file may be inlined as a data: URL, which the content policy would refuse.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
