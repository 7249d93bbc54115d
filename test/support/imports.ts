/** What the text of a module imports, as it is written there. */
export const importedBy = (text: string) =>
  [...text.matchAll(/from '([^']+)'|(?:import|import\.meta\.url\)|latePackage)\('([^']+)'\)/g)].map(m => m[1] ?? m[2]!)

/** Walks all imports. Returns how many modules it met. @throws Error that names the first circle */
export const walkWithoutCircle = (graph: ReadonlyMap<string, readonly string[]>): number => {
  const done = new Set<string>()
  const visit = (module: string, path: string[]): void => {
    if (done.has(module)) return
    if (path.includes(module)) throw new Error(`cycle: ${[...path.slice(path.indexOf(module)), module].join(' -> ')}`)
    for (const next of graph.get(module) ?? []) visit(next, [...path, module])
    done.add(module)
  }
  for (const module of graph.keys()) visit(module, [])
  return done.size
}
