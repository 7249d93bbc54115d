import checkWorkerUrl from './worker.ts?worker&url'

interface Policy {
  createScriptURL(url: string): string
}
interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy
}

let policy: Policy | undefined

/** The only script that this page starts besides its own, under the one policy that its content policy allows. */
export const startCheckWorker = (): Worker => {
  const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes
  const own = new URL(checkWorkerUrl, import.meta.url).href
  if (!factory) return new Worker(own)
  policy ??= factory.createPolicy('pshub', {
    createScriptURL: url => {
      if (url !== own) throw new TypeError('only the checks run in a worker')
      return url
    },
  })
  return new Worker(policy.createScriptURL(own))
}
