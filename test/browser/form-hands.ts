import type { Locator, Page } from 'playwright-core'
import { kindsOf } from './control-kinds.ts'
import { cssString, type Look, lookAt, shownValue } from './form-look.ts'

/** What somebody can do with a form who sees it: look at a place, named by its pointer, and operate what is there. */
export interface Hands {
  look(pointer: string): Promise<Look>
  /** The part of the value that the form shows as JSON. */
  shown(pointer: string): Promise<unknown>
  setState(pointer: string, state: string): Promise<void>
  chooseBranch(pointer: string, label: string): Promise<void>
  /** Presses the button that gives the only value there can be. */
  give(pointer: string): Promise<void>
  type(pointer: string, text: string): Promise<void>
  attach(pointer: string, bytes: Buffer): Promise<void>
  check(pointer: string, at: number): Promise<void>
  pick(pointer: string, label: string): Promise<void>
  /** False where no further item is offered. */
  addItem(pointer: string): Promise<boolean>
  removeItem(pointer: string, at: number): Promise<void>
  /** False where no further key is offered. */
  addKey(pointer: string, key: string): Promise<boolean>
}

/** On a page of a browser, by mouse and keyboard. */
export class PageHands implements Hands {
  readonly #page: Page
  readonly #operated: Set<string>
  #files = 0

  /** `operated`: where the kinds of controls are noted that were operated. */
  constructor(page: Page, operated = new Set<string>()) {
    this.#page = page
    this.#operated = operated
  }

  look(pointer: string): Promise<Look> {
    return lookAt(this.#page, pointer)
  }

  shown(pointer: string): Promise<unknown> {
    return shownValue(this.#page, pointer)
  }

  setState(pointer: string, state: string): Promise<void> {
    return this.#operate(this.#at('state', pointer), list => list.selectOption(state))
  }

  chooseBranch(pointer: string, label: string): Promise<void> {
    return this.#operate(this.#at('branch', pointer), list => list.selectOption({ label }))
  }

  give(pointer: string): Promise<void> {
    return this.#operate(this.#at('give', pointer), button => button.click())
  }

  type(pointer: string, text: string): Promise<void> {
    const field = this.#at('pointer', pointer)
    return this.#operate(field, async () => {
      // A secret is a line until several are pasted.
      const isLine = /\n/.test(text) && (await field.getAttribute('type')) === 'password'
      if (isLine) await field.evaluate(paste, text)
      else {
        // What is empty becomes an empty text when something was typed and taken back.
        if (text === '') await field.fill('1')
        await field.fill(text)
      }
    })
  }

  async attach(pointer: string, buffer: Buffer): Promise<void> {
    const input = this.#at('pointer', pointer)
    // A name of its own each time, so that what is told afterwards is told of this file.
    const name = `file ${++this.#files}`
    await this.#operate(input, found => found.setInputFiles({ name, mimeType: 'x/y', buffer }))
    // A file is read in its own time, and named when that is done.
    await this.#page.locator('.file', { has: input }).getByRole('status').getByText(name).waitFor()
  }

  check(pointer: string, at: number): Promise<void> {
    return this.#operate(this.#at('pointer', pointer).nth(at), radio => radio.check())
  }

  pick(pointer: string, label: string): Promise<void> {
    return this.#operate(this.#at('pointer', pointer), list => list.selectOption({ label }))
  }

  async addItem(pointer: string): Promise<boolean> {
    const add = this.#at('add', pointer)
    if ((await add.count()) === 0) return false
    await this.#operate(add, button => button.click())
    return true
  }

  removeItem(pointer: string, at: number): Promise<void> {
    return this.#operate(this.#at('tool', `remove ${pointer}/${at}`), button => button.click())
  }

  async addKey(pointer: string, key: string): Promise<boolean> {
    const more = this.#at('more-keys', pointer)
    if (await more.count()) await this.#operate(more, button => button.click())
    const name = this.#at('new-key', pointer)
    if ((await name.count()) === 0) return false
    await name.fill(key)
    await this.#operate(this.#at('add-key', pointer), button => button.click())
    return true
  }

  #at(what: string, name: string): Locator {
    return this.#page.locator(`[data-${what}=${cssString(name)}]`)
  }

  async #operate(control: Locator, run: (control: Locator) => Promise<unknown>): Promise<void> {
    for (const kind of await kindsOf(control)) this.#operated.add(kind)
    await run(control)
  }
}

// Runs in the page.
const paste = (field: { dispatchEvent(event: unknown): void }, text: string): void => {
  // biome-ignore lint/suspicious/noExplicitAny: the tests are checked without the types of a page
  const page = globalThis as any
  const clipboardData = new page.DataTransfer()
  clipboardData.setData('text/plain', text)
  field.dispatchEvent(new page.ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
}
