import { makeRefs } from '../../registry/schema/refs.ts'
import { type Check, makeCheck } from '../../registry/web/form/check/check.ts'
import { keyProblem } from '../../registry/web/form/controls/key-problem.ts'
import { movedTo } from '../../registry/web/form/model/branches.ts'
import { givenOf, initialOf } from '../../registry/web/form/model/initial.ts'
import { equal, getIn, has, type Path, parsePointer, setIn } from '../../registry/web/form/model/json.ts'
import { afterState, isToCome, type State } from '../../registry/web/form/model/opening.ts'
import { parseJson } from '../../registry/web/json/parse.ts'
import type { Hands } from './form-hands.ts'
import type { Look } from './form-look.ts'
import { Drawing, isOperable, type Memory, type Spot } from './paper-drawing.ts'

/**
 * The form without a page: its model, drawn into a list of spots, and operated the way its controls operate it. What a browser
 * adds is tested there: that controls are what they seem, the focus, and that foreign texts stay texts.
 */
export class FormOnPaper implements Hands {
  readonly #schema: unknown
  readonly #check: Check
  #memory: Memory
  #kept = new Map<string, Map<number, unknown>>()
  #value: unknown
  #drawing: Drawing

  constructor(schema: unknown) {
    this.#schema = schema
    // The checks write into the schema they are given.
    this.#check = makeCheck(JSON.parse(JSON.stringify(schema)))
    const refs = makeRefs(schema, (pattern, text) => new RegExp(pattern, 'u').test(text))
    this.#memory = { epoch: 0, refs, asked: new Map(), branches: new Map(), drafts: new Map() }
    this.#value = initialOf(schema, refs)
    this.#drawing = this.#draw()
  }

  /** What the form finds wrong, and why it may have checked nothing. */
  verdict(): { problems: readonly { pointer: string; message: string }[]; unchecked?: string } {
    const { texts, chosen } = this.#drawing
    const typed = [...texts].map(([pointer, message]) => ({ pointer, message }))
    const { problems, ...rest } = this.#check(this.#value, chosen)
    return { problems: [...typed, ...problems.filter(({ pointer }) => !texts.has(pointer))], ...rest }
  }

  /** Whether somebody who reads of a problem there is led to a field that shows it. */
  leadsTo(pointer: string): boolean {
    const spot = this.#drawing.spots.get(pointer)
    return spot !== undefined && isOperable(spot)
  }

  /** As the JSON tab does: the whole value from outside. */
  async take(text: string): Promise<void> {
    const parsed = parseJson(text)
    if (!parsed.ok) return
    if (!equal(parsed.value, this.#value)) this.#memory = { ...this.#memory, epoch: this.#memory.epoch + 1 }
    this.#change(parsed.value)
  }

  async look(pointer: string): Promise<Look> {
    const spot = this.#drawing.spots.get(pointer)
    const { choice, taker, constant, list } = spot ?? {}
    return {
      isThere: spot !== undefined && isOperable(spot),
      states: [...(spot?.states ?? [])],
      now: spot?.states.length ? spot.now : undefined,
      branches: (choice?.listed ?? []).map(({ label }) => label),
      control: taker?.look,
      options: (taker?.options ?? []).map(({ label }) => label),
      canGive: constant?.isGiven === false,
      isList: list !== undefined,
      items: spot?.items ?? 0,
    }
  }

  async shown(pointer: string): Promise<unknown> {
    const text = JSON.stringify(this.#value)
    return text === undefined ? undefined : getIn(JSON.parse(text), parsePointer(pointer))
  }

  async setState(pointer: string, state: string): Promise<void> {
    const spot = this.#at(pointer)
    if (!spot.states.includes(state as State)) throw new Error(`${pointer} cannot be ${state}`)
    const after = afterState(spot.view, state as State, () => givenOf(spot.schema, this.#memory.refs))
    if (after === 'stays') return
    if (after !== 'leaves') return this.#put(spot, after.value)
    this.#memory.asked.delete(spot.key)
    this.#set(spot.path, undefined, spot.kept)
  }

  async chooseBranch(pointer: string, label: string): Promise<void> {
    const spot = this.#at(pointer)
    const { key, at, branches, listed } = spot.choice!
    const next = branches.indexOf(listed.find(branch => branch.label === label)!)
    if (next < 0) throw new Error(`${pointer} offers no ${label}`)
    if (next === at) return
    const kept = this.#kept.get(key) ?? new Map<number, unknown>()
    this.#kept.set(key, kept)
    if (at >= 0) kept.set(at, spot.value)
    this.#memory.branches.set(key, { epoch: this.#memory.epoch, at: next })
    const moved = () => movedTo(spot.value, branches[at], branches[next]!, this.#memory.refs)
    this.#put(spot, kept.has(next) ? kept.get(next) : moved())
  }

  async give(pointer: string): Promise<void> {
    const spot = this.#at(pointer)
    this.#put(spot, spot.constant!.value)
  }

  async type(pointer: string, text: string): Promise<void> {
    const spot = this.#at(pointer)
    const { key, read } = spot.taker!
    const found = read(text)
    const value = 'problem' in found ? spot.value : found.value
    this.#memory.drafts.set(key, { epoch: this.#memory.epoch, value, text })
    this.#put(spot, value)
  }

  async attach(pointer: string, bytes: Buffer): Promise<void> {
    this.#put(this.#at(pointer), bytes.toString('base64'))
  }

  async check(pointer: string, at: number): Promise<void> {
    const spot = this.#at(pointer)
    this.#put(spot, spot.taker!.options[at]!.value)
  }

  async pick(pointer: string, label: string): Promise<void> {
    const spot = this.#at(pointer)
    this.#put(spot, spot.taker!.options.find(option => option.label === label)!.value)
  }

  async addItem(pointer: string): Promise<boolean> {
    const spot = this.#at(pointer)
    const items = (spot.value as unknown[] | undefined) ?? []
    if (!spot.list!.mayGrow(items.length)) return false
    this.#put(spot, [...items, initialOf(spot.list!.itemSchema(items.length), this.#memory.refs)])
    return true
  }

  async removeItem(pointer: string, at: number): Promise<void> {
    const spot = this.#at(pointer)
    this.#put(spot, (spot.value as unknown[]).toSpliced(at, 1))
  }

  async addKey(pointer: string, key: string): Promise<boolean> {
    const { object, value, path } = this.#at(pointer)
    if (!object?.open) return false
    const isRefused = keyProblem(key, name => has(value, name)) !== undefined
    if (!isRefused) this.#set([...path, key], initialOf(object.entrySchema(key), this.#memory.refs), true)
    return true
  }

  #at(pointer: string): Spot {
    const spot = this.#drawing.spots.get(pointer)
    if (!spot) throw new Error(`Nothing is drawn at '${pointer}'.`)
    return spot
  }

  #put(spot: Spot, value: unknown): void {
    const comes = isToCome(spot.view, value)
    if (comes) this.#memory.asked.set(spot.key, this.#memory.epoch)
    this.#set(spot.path, value, spot.kept || comes)
  }

  #set(path: Path, part: unknown, keep: boolean): void {
    this.#change(setIn(this.#value, path, part, keep))
  }

  #change(value: unknown): void {
    this.#value = value
    this.#drawing = this.#draw()
  }

  /** What is not drawn any more is forgotten, as a control that has left the page is. */
  #draw(): Drawing {
    const drawing = new Drawing(this.#memory, this.#schema, this.#value)
    const { asked, branches, drafts } = this.#memory
    for (const known of [asked, branches, drafts, this.#kept])
      for (const key of known.keys()) if (!drawing.keys.has(key)) known.delete(key)
    return drawing
  }
}
