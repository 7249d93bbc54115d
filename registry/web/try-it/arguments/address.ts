import { type Judged, withoutSecrets } from '../../../schema/secrets.ts'
import { jsonText } from '../../json/exact.ts'
import { argsToFragment } from './share-link.ts'

/** The part of the page's address that says how arguments are written. */
export const tabOfAddress = (): 'form' | 'json' =>
  new URLSearchParams(location.hash.slice(1)).get('as') === 'json' ? 'json' : 'form'

export const keepTabInAddress = (tab: 'form' | 'json'): void => {
  const parts = new URLSearchParams(location.hash.slice(1))
  if (tab === 'json') parts.set('as', 'json')
  else parts.delete('as')
  setFragment(parts.toString())
}

/** Puts arguments into the page's address. Returns what to tell about it, and whether it worked. */
export const keepArgsInAddress = async (
  task: Judged,
  args: unknown,
  tab: 'form' | 'json',
): Promise<{ isKept: boolean; about: string }> => {
  const { value, isWhole } = withoutSecrets(task, args)
  if (value === undefined)
    return { isKept: false, about: 'These arguments may be secret, so they cannot be shared by link.' }
  const fragment = await argsToFragment(jsonText(value))
  if (fragment === undefined) return { isKept: false, about: 'The arguments are too large for a link.' }
  setFragment(tab === 'json' ? `as=json&${fragment}` : fragment)
  return { isKept: true, about: isWhole ? '' : ' Secret fields were left out.' }
}

const setFragment = (fragment: string): void =>
  history.replaceState(history.state, '', `${location.pathname}${location.search}${fragment && `#${fragment}`}`)
