import { type JsonSchema, maxDepth, visit, whole } from './schema-walk.ts'

/** Drafts whose schemas are read as of 2020-12, which changed little of what most are made of. */
const known = /^https?:\/\/json-schema\.org\/(draft-0[467]\/schema|draft\/(2019-09|2020-12)\/schema)#?$/

/** Keywords that meant something else, or that this draft knows by another name: they would be misread, or passed over in silence. */
const changed: Record<string, (value: unknown) => string | undefined> = {
  $schema: value =>
    typeof value !== 'string' || known.test(value)
      ? undefined
      : `its $schema ${JSON.stringify(value).slice(0, 100)} is no draft of JSON Schema that is known here: leave it out, or name https://json-schema.org/draft/2020-12/schema`,
  $id: value =>
    typeof value === 'string' && value.startsWith('#')
      ? "'$id' beginning with # is of an older draft: use '$anchor', without the #"
      : undefined,
  items: value =>
    Array.isArray(value)
      ? "a list under 'items' is of an older draft: use 'prefixItems', and 'items' for what follows"
      : undefined,
  exclusiveMinimum: value =>
    typeof value === 'boolean'
      ? "'exclusiveMinimum' that is true or false is of an older draft: give it the number itself, in place of 'minimum'"
      : undefined,
  exclusiveMaximum: value =>
    typeof value === 'boolean'
      ? "'exclusiveMaximum' that is true or false is of an older draft: give it the number itself, in place of 'maximum'"
      : undefined,
  dependencies: () => "'dependencies' is of an older draft: use 'dependentRequired' or 'dependentSchemas'",
  $recursiveRef: () => "'$recursiveRef' is of an older draft: use '$dynamicRef', or '$ref'",
}

/** What in a schema is written as older drafts had it, and what to write instead; undefined: nothing. */
export const olderDraft = (schema: JsonSchema): string | undefined => {
  let found: string | undefined
  visit(schema, whole, (part, _place, depth) => {
    for (const [keyword, judge] of Object.entries(changed))
      if (Object.hasOwn(part, keyword)) found ??= judge(part[keyword])
    return found === undefined && depth <= maxDepth
  })
  return found
}
