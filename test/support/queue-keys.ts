import { makeKeys } from '../../src/wire/keys.ts'

/** The keys of one queue in a test's own namespace, and the names of reply lists there. */
export const queueKeys = ({ namespace }: { namespace: string }, queue = 'q') => {
  const keys = makeKeys(namespace)
  return { ...keys.queue(queue), reply: keys.reply }
}
