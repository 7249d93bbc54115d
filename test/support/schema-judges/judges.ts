import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { compileForeign, compileOwn, UnusableSchema, type Validate } from '../../../src/task/schema.ts'
import { ConfigError, messageOf } from '../../../src/wire/errors.ts'
import { pythonEnv } from '../../../tools/python-env.mjs'
import { rubyEnv } from '../../../tools/ruby-env.mjs'

export interface Case {
  schema: object
  values: unknown[]
}

/** Why a schema is rejected, or which values fit it; `foreign`: the same where it came from the registry, if it is used then. */
export type Verdict = { rejected: string } | { fits: boolean[]; foreign?: (boolean | undefined)[] }

/** What TypeScript says. Anything but a typed refusal is thrown. */
export const judged = ({ schema, values }: Case): Verdict => {
  const text = JSON.stringify(schema)
  let own: Validate
  try {
    own = compileOwn(schema, 'it')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { rejected: isUsed(text) ? 'only as its own' : error.message }
  }
  const verdictBy = (check: Validate) => (value: unknown) => fitsOf(check, value)
  return { fits: values.map(value => own(value, 0).length === 0), foreign: values.map(verdictBy(compileForeign(text))) }
}

const isUsed = (text: string): boolean => {
  try {
    compileForeign(text)
    return true
  } catch (error) {
    if (!(error instanceof UnusableSchema)) throw error
    return false
  }
}

/** Undefined: it took too long. */
const fitsOf = (check: Validate, value: unknown): boolean | undefined => {
  try {
    return check(value, 100_000).length === 0
  } catch (error) {
    if (!(error instanceof UnusableSchema)) throw new Error(`not a refusal: ${messageOf(error)}`)
    return undefined
  }
}

/** A process of another language that judges one case after the other; undefined where it cannot be had here. */
export const judgeIn = (language: 'python' | 'ruby') => {
  const program = found(language === 'python' ? pythonEnv : rubyEnv)
  if (program === undefined) return undefined
  const child = spawn(program, [join(import.meta.dirname, `judge.${language === 'python' ? 'py' : 'rb'}`)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async all(cases: Case[]): Promise<Verdict[]> {
      child.stdin.end(cases.map(one => `${JSON.stringify(one)}\n`).join(''))
      const verdicts: Verdict[] = []
      for (const one of cases) {
        const { value, done } = await lines.next()
        if (done) throw new Error(`${language} ended at ${JSON.stringify(one)}`)
        verdicts.push(JSON.parse(value))
      }
      return verdicts
    },
  }
}

const found = (find: () => string): string | undefined => {
  try {
    return find()
  } catch {
    return undefined
  }
}
