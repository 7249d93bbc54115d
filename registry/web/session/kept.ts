/** All that pages keep in a browser has a name of this beginning. */
const ours = 'pshub'
/** Kept for whoever uses this browser, and says nothing of anybody. */
const looks = 'pshub-theme'

/** Clears what the pages keep here of who was logged in: arguments of runs, and those in the address. */
export const forgetKept = (): void => {
  for (const storage of [() => localStorage, () => sessionStorage]) {
    try {
      const kept = storage()
      for (const name of Object.keys(kept)) if (name.startsWith(ours) && name !== looks) kept.removeItem(name)
    } catch {
      // A browser that refuses to be asked keeps nothing.
    }
  }
  history.replaceState(history.state, '', location.pathname + location.search)
}
