import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // The service puts its base path in.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    // No file may be inlined as a data: URL, which the content policy would refuse.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
