import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** Colours a text, or leaves it alone where colours are not wanted. They only ever repeat what the words say. */
export type Paint = (format: Format, text: string) => string

/** FORCE_COLOR and NO_COLOR as their users know them (force-color.org, no-color.org); without them, only a terminal. */
const wantsColour = (isTerminal: boolean, env: NodeJS.ProcessEnv): boolean => {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = env
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  if (no !== undefined && no !== '') return false
  return isTerminal && term !== 'dumb'
}

export const makePaint = (isTerminal: boolean, env: NodeJS.ProcessEnv): Paint => {
  if (!wantsColour(isTerminal, env)) return (_, text) => text
  return (format, text) => styleText(format, text, { validateStream: false })
}
