import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Problem } from '../wire/errors.ts'
import { escapePointer } from '../wire/json/json-value.ts'

/**
 * What a check found, as it is told to people. The pointer names the offending field itself: for a missing or surplus one, the
 * field and not what it is missing from.
 */
const toProblems = (error: ErrorObject, value: unknown): Problem[] => {
  const { instancePath, keyword, params, message, propertyName } = error
  const of = (name: string, told: string): Problem[] => [
    { pointer: `${instancePath}/${escapePointer(name)}`, message: told },
  ]
  // What is wrong with a name is told once, by `propertyNames`.
  if (propertyName !== undefined) return []
  const here = (told: string): Problem[] => [{ pointer: instancePath, message: told }]
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return of(params.missingProperty, 'is required')
    case 'additionalProperties':
      return of(params.additionalProperty, 'is not a known field')
    case 'items':
      return surplus(error, value)
    case 'propertyNames':
      return of(params.propertyName, 'is not an allowed name')
    // What the chosen side says against the value is told already.
    case 'if':
      return []
    case 'false schema':
      return here('is not allowed')
    case 'enum': {
      const known = JSON.stringify(params.allowedValues).slice(1, 201).replace(/\]$/, '')
      return here(`must be one of ${known}`)
    }
    case 'const':
      return here(`must be ${JSON.stringify(params.allowedValue)}`)
    case 'not':
      return here('is not allowed')
    case 'contains':
      return here(`must contain ${matchingItems(params.minContains, params.maxContains)}`)
    default:
      return here(countWords(keyword, params) ?? message ?? `fails '${keyword}'`)
  }
}

/** Errors of our own keywords have no params. */
const countWords = (keyword: string, params: ErrorObject['params'] | undefined): string | undefined => {
  const [, bound, of] = /^(min|max)(Length|Items|Properties)$/.exec(keyword) ?? []
  if (of === undefined) return undefined
  const limit: number = params!.limit
  const thing = { Length: 'character', Items: 'item', Properties: 'field' }[of]
  return `must have at ${bound === 'min' ? 'least' : 'most'} ${limit} ${thing}${limit === 1 ? '' : 's'}`
}

const matchingItems = (least: number, most: number | undefined): string => {
  if (most === undefined) return least === 1 ? 'a matching item' : `at least ${least} matching items`
  return `${least} to ${most} matching items`
}

/** Each item behind the last that is allowed. */
const surplus = ({ instancePath, params }: ErrorObject, value: unknown): Problem[] =>
  (at(value, instancePath) as unknown[])
    .slice(params.limit)
    .map((_, index) => ({ pointer: `${instancePath}/${params.limit + index}`, message: 'is not a known item' }))

const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((place, step) => (place as Record<string, unknown>)[step], value)

/** More offending fields than these are not listed. */
const maxProblems = 50

/** All that a check found; of very many, the outermost: a choice of hundreds says much about each, and last that none fits. */
export const problemsOf = (errors: readonly ErrorObject[], value: unknown): Problem[] => {
  const problems = errors.flatMap(error => toProblems(error, value))
  if (problems.length <= maxProblems) return problems
  const depth = ({ pointer }: Problem) => pointer.split('/').length
  return problems.sort((a, b) => depth(a) - depth(b)).slice(0, maxProblems)
}
