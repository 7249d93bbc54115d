import * as nodeModule from 'node:module'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'

/** Node 22.15 and newer: hooks in this thread, for import and require. */
type RegisterHooks = (hooks: {
  resolve(
    specifier: string,
    context: { parentURL?: string },
    next: (specifier: string, context: unknown) => { url: string },
  ): unknown
}) => void

/** Node before that: hooks in a thread of Node's, for import alone. It reports missing files too: they may be created later. */
const hooksOfThread = `let port
export const initialize = data => { port = data.port }
const urlOf = (specifier, parent) => { try { return new URL(specifier, parent).href } catch { return '' } }
export const resolve = async (specifier, context, next) => {
  try {
    const found = await next(specifier, context)
    port.postMessage(found.url)
    return found
  } catch (error) {
    if (/^[./]/.test(specifier)) port.postMessage(urlOf(specifier, context.parentURL))
    throw error
  }
}`

/**
 * Tells of each file that this process imports from now on, and of each that an import names and that is not there; packages that were
 * installed are left out. The function that is returned makes sure that all so far were reported.
 */
export const watchImports = (tell: (files: string[]) => void): (() => void) => {
  const known = new Set<string>()
  const note = (urls: string[]) => {
    const files = urls.flatMap(url => fileOf(url) ?? []).filter(file => !known.has(file))
    for (const file of files) known.add(file)
    if (files.length > 0) tell(files)
  }
  const { registerHooks } = nodeModule as { registerHooks?: RegisterHooks }
  if (registerHooks !== undefined) {
    registerHooks({
      resolve(specifier, context, next) {
        try {
          const found = next(specifier, context)
          note([found.url])
          return found
        } catch (error) {
          if (/^[./]/.test(specifier) && context.parentURL !== undefined)
            note([new URL(specifier, context.parentURL).href])
          throw error
        }
      },
    })
    return () => undefined
  }
  const { port1, port2 } = new MessageChannel()
  nodeModule.register(`data:text/javascript,${encodeURIComponent(hooksOfThread)}`, {
    data: { port: port2 },
    transferList: [port2],
  })
  port1.on('message', (url: string) => note([url]))
  port1.unref()
  return () => {
    for (let got = receiveMessageOnPort(port1); got; got = receiveMessageOnPort(port1)) note([got.message])
    note(Object.keys(createRequire(import.meta.url).cache).map(path => `file://${path}`))
  }
}

const fileOf = (url: string): string | undefined => {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return undefined
  return fileURLToPath(new URL(url, 'file:///').href.replace(/[?#].*$/, ''))
}
