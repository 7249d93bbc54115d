import { expect } from 'vitest'
import type { Hands, PageHands } from './form-hands.ts'
import type { Look } from './form-look.ts'
import type { FormOnPaper } from './form-on-paper.ts'

/**
 * Operates a form on a page and its twin on paper alike, and fails where they look different: so what the other schemas show on
 * paper is what a page would show.
 */
export const twinHands = (onPage: PageHands, paper: FormOnPaper): Hands => {
  const both = async (run: (hands: Hands) => Promise<unknown>): Promise<void> => {
    await run(onPage)
    await run(paper)
  }
  const offered = async (what: string, run: (hands: Hands) => Promise<boolean>): Promise<boolean> => {
    const found = await run(onPage)
    expect(await run(paper), `on paper, as on the page: ${what}`).toBe(found)
    return found
  }
  return {
    async look(pointer): Promise<Look> {
      const found = await onPage.look(pointer)
      expect(await paper.look(pointer), `on paper, as on the page: ${pointer}`).toEqual(found)
      return found
    },
    async shown(pointer) {
      const found = await onPage.shown(pointer)
      expect(await paper.shown(pointer), `on paper, as on the page: ${pointer}`).toEqual(found)
      return found
    },
    setState: (pointer, state) => both(hands => hands.setState(pointer, state)),
    chooseBranch: (pointer, label) => both(hands => hands.chooseBranch(pointer, label)),
    give: pointer => both(hands => hands.give(pointer)),
    type: (pointer, text) => both(hands => hands.type(pointer, text)),
    attach: (pointer, bytes) => both(hands => hands.attach(pointer, bytes)),
    check: (pointer, at) => both(hands => hands.check(pointer, at)),
    pick: (pointer, label) => both(hands => hands.pick(pointer, label)),
    removeItem: (pointer, at) => both(hands => hands.removeItem(pointer, at)),
    addItem: pointer => offered(`an item of ${pointer}`, hands => hands.addItem(pointer)),
    addKey: (pointer, key) => offered(`a key of ${pointer}`, hands => hands.addKey(pointer, key)),
  }
}
