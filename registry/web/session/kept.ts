/** All that pages keep in a browser has a name of this beginning. */
const ours = 'pshub'
/** Kept for whoever uses this browser, and says nothing of anybody. */
const looks = 'pshub-theme'
/** What this tab keeps for whoever is logged in: it outlives a reload and the end of a session, and ends with a log-out. */
const prefix = 'pshub-kept '
const maxLength = 200_000

/** Counts log-outs: what was written before one is not kept after it. */
let era = 0

/** Some browsers refuse even to be asked, and a storage may be full: then nothing is kept. */
const attempt = <T>(act: () => T): T | undefined => {
  try {
    return act()
  } catch {
    return undefined
  }
}

/** What is kept under a name, and what keeps something else there; undefined: nothing. */
export const placeToKeep = (name: string) => {
  const own = era
  const key = prefix + name
  return {
    text: attempt(() => sessionStorage.getItem(key) ?? undefined),
    keep(text: string | undefined): void {
      if (own !== era) return
      attempt(() =>
        text === undefined || text.length > maxLength
          ? sessionStorage.removeItem(key)
          : sessionStorage.setItem(key, text),
      )
    },
  }
}

/** Clears what the pages keep here of who was logged in: arguments of runs, and those in the address. */
export const forgetKept = (): void => {
  era++
  for (const storage of [() => localStorage, () => sessionStorage])
    attempt(() => {
      const kept = storage()
      for (const name of Object.keys(kept)) if (name.startsWith(ours) && name !== looks) kept.removeItem(name)
    })
  history.replaceState(history.state, '', location.pathname + location.search)
}
