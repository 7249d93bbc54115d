export const environmentColours = ['red', 'orange', 'green', 'blue', 'purple', 'grey'] as const
export type EnvironmentColour = (typeof environmentColours)[number]

/** The environment of a registry, as its pages show it. */
export interface Environment {
  name: string
  colour: EnvironmentColour
}

/** Nothing that is invisible or turns the direction of writing, and no spaces at its ends. */
const pattern = /^(?! )([^\p{C}\p{Zl}\p{Zp}:]{1,32})(?<! )(?::([a-z]+))?$/u

/** Parses the setting `environment`: `name` or `name:colour`; undefined for any other text. */
export const parseEnvironment = (text: string): Environment | undefined => {
  const [, name, given] = pattern.exec(text) ?? []
  if (name === undefined) return undefined
  const colour = given ?? (/^prod/i.test(name) ? 'red' : 'blue')
  const known = environmentColours.find(each => each === colour)
  return known && { name, colour: known }
}
