import type { Locator, Page } from 'playwright-core'
import { cssString, type Look, lookAt, shownValue } from './form-look.ts'

/** What a person who sees a form can do with it: look at a place, named by its pointer, and operate what is there. */
export class Hands {
  readonly #page: Page
  #files = 0

  constructor(page: Page) {
    this.#page = page
  }

  look(pointer: string): Promise<Look> {
    return lookAt(this.#page, pointer)
  }

  shown(pointer: string): Promise<unknown> {
    return shownValue(this.#page, pointer)
  }

  setState(pointer: string, state: string): Promise<unknown> {
    return this.#at('state', pointer).selectOption(state)
  }

  chooseBranch(pointer: string, label: string): Promise<unknown> {
    return this.#at('branch', pointer).selectOption({ label })
  }

  /** Presses the button that gives the only value there can be. */
  give(pointer: string): Promise<void> {
    return this.#at('give', pointer).click()
  }

  async type(pointer: string, text: string): Promise<void> {
    const field = this.#at('pointer', pointer)
    // A secret is a line until several are pasted.
    const isLine = /\n/.test(text) && (await field.getAttribute('type')) === 'password'
    if (isLine) return field.evaluate(paste, text)
    // An empty field becomes an empty text when something was typed and taken back.
    if (text === '') await field.fill('1')
    await field.fill(text)
  }

  async attach(pointer: string, buffer: Buffer): Promise<void> {
    const input = this.#at('pointer', pointer)
    // A name of its own each time, so that what is told afterwards is told of this file.
    const name = `file ${++this.#files}`
    await input.setInputFiles({ name, mimeType: 'x/y', buffer })
    // A file is read in its own time, and named when that is done.
    await this.#page.locator('.file', { has: input }).getByRole('status').getByText(name).waitFor()
  }

  check(pointer: string, at: number): Promise<void> {
    return this.#at('pointer', pointer).nth(at).check()
  }

  pick(pointer: string, label: string): Promise<unknown> {
    return this.#at('pointer', pointer).selectOption({ label })
  }

  /** False where no further item is offered. */
  async addItem(pointer: string): Promise<boolean> {
    const add = this.#at('add', pointer)
    if ((await add.count()) === 0) return false
    await add.click()
    return true
  }

  removeItem(pointer: string, at: number): Promise<void> {
    return this.#at('tool', `remove ${pointer}/${at}`).click()
  }

  /** False where no further key is offered. */
  async addKey(pointer: string, key: string): Promise<boolean> {
    const more = this.#at('more-keys', pointer)
    if (await more.count()) await more.click()
    const name = this.#at('new-key', pointer)
    if ((await name.count()) === 0) return false
    await name.fill(key)
    await this.#at('add-key', pointer).click()
    return true
  }

  #at(what: string, name: string): Locator {
    return this.#page.locator(`[data-${what}=${cssString(name)}]`)
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
