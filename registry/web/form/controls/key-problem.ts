/** Why a name cannot be a key here; undefined: it can. */
export const keyProblem = (name: string, taken: (name: string) => boolean): string | undefined => {
  if (name === '') return 'needs a name'
  if (name === '__proto__') return 'a key named __proto__ is not allowed'
  return taken(name) ? `${name} already exists` : undefined
}
