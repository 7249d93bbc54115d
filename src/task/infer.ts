import type { StandardSchema } from './standard.ts'

/** What travels to a schema: of a library's schema what that takes, anything where there is none. */
export type InputOf<S> = S extends undefined
  ? unknown
  : S extends StandardSchema<infer Input, unknown>
    ? Input
    : FromSchema<S>

/** What the validator of a library's schema makes of that; of a JSON Schema the same. */
export type OutputOf<S> = S extends undefined
  ? unknown
  : S extends StandardSchema<unknown, infer Output>
    ? Output
    : FromSchema<S>

/** What comes out of a result's schema, as callers receive it. */
export type ToldOf<S> = S extends StandardSchema<unknown, infer Output> ? Received<Output> : InputOf<S>

/**
 * The TypeScript type of the values that a JSON Schema literal describes. Supported: type, properties, required, items,
 * prefixItems, enum, const, anyOf, oneOf, allOf, additionalProperties, and the types of TypeBox. Anything else is
 * `unknown`.
 */
export type FromSchema<S> = S extends { static: unknown; params: unknown[] }
  ? (S & { params: [] })['static']
  : FromKeywords<S>

type FromKeywords<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer E)[] }
    ? E
    : S extends { anyOf: readonly (infer O)[] } | { oneOf: readonly (infer O)[] }
      ? FromSchema<O>
      : S extends { type: infer T }
        ? FromType<T, S>
        : S extends { allOf: infer L extends readonly unknown[] }
          ? FromAll<L>
          : unknown

type FromAll<L> = L extends readonly [infer First, ...infer Rest] ? FromSchema<First> & FromAll<Rest> : unknown

type FromType<T, S> = T extends readonly (infer Each)[] ? FromOneType<Each, S> : FromOneType<T, S>

type FromOneType<T, S> = T extends keyof Types<S> ? Types<S>[T] : unknown

interface Types<S> {
  string: string
  number: number
  integer: number
  boolean: boolean
  null: null
  array: FromArray<S>
  object: FromObject<S>
}

type FromArray<S> = S extends { prefixItems: infer P extends readonly unknown[] }
  ? { -readonly [I in keyof P]: FromSchema<P[I]> }
  : S extends { items: infer I }
    ? FromSchema<I>[]
    : unknown[]

type FromObject<S> = S extends { properties: infer P }
  ? [keyof P] extends [never]
    ? FromOpenObject<S>
    : { -readonly [K in keyof P as K extends RequiredOf<S> ? K : never]: FromSchema<P[K]> } & {
          -readonly [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromSchema<P[K]>
        } & (S extends { additionalProperties: infer A }
            ? A extends false
              ? unknown
              : { [key: string]: unknown }
            : unknown) extends infer O
      ? { [K in keyof O]: O[K] }
      : never
  : FromOpenObject<S>

/** Of one whose properties have no names. */
type FromOpenObject<S> = S extends { '~kind': 'Record'; patternProperties: infer P }
  ? { [key: string]: FromSchema<P[keyof P]> }
  : S extends { additionalProperties: infer A }
    ? A extends false
      ? { [key: string]: never }
      : A extends object
        ? { [key: string]: FromSchema<A> }
        : { [key: string]: unknown }
    : { [key: string]: unknown }

type RequiredOf<S> = S extends { required: readonly (infer R)[] } ? R : never

/**
 * The type of a value after its way through JSON: undefined becomes null, or absent as a property; a Date becomes a
 * string, and other objects with toJSON what that returns. Functions, symbols and the contents of maps and sets are
 * lost.
 */
export type Received<T> = unknown extends T ? T : T extends void ? null : AsJson<T>

/** What a caller receives of a handler that returned this: of one that yields what it returns, or where that is nothing or null the list of it all. */
export type ResultFrom<T> = unknown extends T
  ? T
  : T extends Yields<infer Chunk, infer Returned>
    ? Returned extends null
      ? Received<Chunk>[]
      : Returned extends void
        ? Received<Chunk>[]
        : Received<Returned>
    : T extends AsyncIterable<infer Chunk>
      ? Received<Chunk>[]
      : Received<Awaited<T>>

/** What a caller receives of each chunk. */
export type ChunkFrom<T> = unknown extends T
  ? unknown
  : T extends Yields<infer Chunk, unknown> | AsyncIterable<infer Chunk>
    ? Received<Chunk>
    : never

/** What a reader of a task's stream gets: as its `yields` says, else as its handler yields. */
export type ChunkOfSchema<Y, Returned> = Y extends undefined | true ? ChunkFrom<Returned> : ToldOf<Y>

/** What a handler returns that yields these. */
export type Yielding<Chunk> = AsyncIterable<Chunk> | Generator<Chunk, unknown, never>

type Yields<Chunk, Returned> = AsyncGenerator<Chunk, Returned, never> | Generator<Chunk, Returned, never>

/** In the place of a result: a generator that returns it, or yields its items. */
export type ResultByYields<Result, Chunk = unknown> =
  | AsyncGenerator<Chunk, Result, never>
  | (Result extends readonly (infer Item)[] ? AsyncGenerator<Item & Chunk, void, never> : never)

type AsJson<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends { toJSON(): infer J }
      ? AsJson<J>
      : T extends readonly unknown[]
        ? { [I in keyof T]: AsElement<T[I]> }
        : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? { [key: string]: never }
          : { [K in keyof T as T[K] extends Untold | undefined ? KeptAs<T[K], K> : K]: AsJson<T[K]> }

/** A list keeps its length: what cannot be told in it is null. */
type AsElement<T> = unknown extends T ? T : T extends Untold | undefined ? null : AsJson<T>

type Untold = ((...args: never[]) => unknown) | symbol

/** Whether a property that may be absent is anything else when it is there. */
type KeptAs<T, K> = [Extract<T, Untold>] extends [never] ? K : never
