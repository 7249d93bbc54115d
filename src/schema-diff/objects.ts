import { compareLengths } from './limits.ts'
import { escapePointer } from './pointer.ts'
import type { Comparing } from './report.ts'
import { isSameKeyword } from './same.ts'
import { asSchema, isObject, keyword, member, type Schema } from './schema.ts'

/** What a schema says about the fields it does not name. */
const othersOf = (schema: Schema): Schema => asSchema(keyword(schema, 'additionalProperties'))

const isOpen = (schema: Schema): boolean => schema === true || (isObject(schema) && Object.keys(schema).length === 0)

const fieldsOf = (schema: Schema): Record<string, unknown> => {
  const fields = keyword(schema, 'properties')
  return isObject(fields) ? fields : {}
}

export const compareObjects = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  compareFields(to, pointer, before, after)
  compareRequired(to, pointer, before, after)
  compareLengths(to, pointer, before, after, 'number of fields', 'minProperties', 'maxProperties')
  compareNames(to, pointer, before, after)
}

const compareFields = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  const patterns = comparePatterns(to, pointer, before, after)
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const at = `${pointer}/${escapePointer(name)}`
    if (Object.hasOwn(old, name) && Object.hasOwn(now, name)) to.compare(at, asSchema(old[name]), asSchema(now[name]))
    else if (patterns !== 'none') tellOfPatterned(to, at, Object.hasOwn(now, name))
    else if (Object.hasOwn(now, name)) addedField(to, at, before, after, name)
    else removedField(to, at, asSchema(old[name]), othersOf(after))
  }
  const [oldOthers, newOthers] = [othersOf(before), othersOf(after)]
  if (isOpen(oldOthers) && newOthers === false)
    to.tell(pointer, 'fewer', 'Unnamed fields were allowed and are now rejected.')
  else if (oldOthers === false && isOpen(newOthers))
    to.tell(pointer, 'more', 'Unnamed fields were rejected and are now allowed.')
  else to.compare(`${pointer}/*`, oldOthers, newOthers)
}

const tellOfPatterned = (to: Comparing, pointer: string, isNew: boolean) =>
  to.tell(pointer, 'unclear', `The field is ${isNew ? 'new' : 'gone'}, where patterns of names apply too.`)

const addedField = (to: Comparing, pointer: string, before: Schema, after: Schema, name: string) => {
  const [others, field] = [othersOf(before), asSchema(fieldsOf(after)[name])]
  if (others === false) {
    // That it is required, too, is told elsewhere.
    if (field === false || (to.direction === 'args' && namesIn(after, 'required').includes(name))) return
    if (to.direction === 'args') return to.tell(pointer, 'more', 'New field, which may be left out.')
    return to.tell(pointer, 'unclear', 'New field. It breaks only callers that reject unknown fields.')
  }
  if (!isOpen(others)) return to.compare(pointer, others, field)
  if (isOpen(field)) return to.tell(pointer, 'docs', 'The field is described now.')
  if (to.direction === 'result')
    return to.tell(pointer, 'fewer', 'New field; any value was possible under this name before.')
  const text = `New field. It breaks only callers that already sent something else as ${JSON.stringify(name)}, which was allowed.`
  to.tell(pointer, 'unclear', text)
}

const removedField = (to: Comparing, pointer: string, field: Schema, others: Schema) => {
  if (others === false) {
    if (field === false) return
    if (to.direction === 'args') return to.tell(pointer, 'fewer', 'The field was removed and is now rejected.')
    return to.tell(pointer, 'unclear', 'The field was removed: results no longer have it.')
  }
  if (!isOpen(others)) return to.compare(pointer, field, others)
  if (isOpen(field)) return to.tell(pointer, 'docs', 'The field is not described any more.')
  if (to.direction === 'args')
    return to.tell(pointer, 'unclear', 'The field was removed. It is still allowed and may be ignored.')
  to.tell(pointer, 'unclear', 'The field was removed: it may be absent or hold any value.')
}

const namesIn = (schema: Schema, name: string): string[] => {
  const names = keyword(schema, name)
  return Array.isArray(names) ? names.filter(one => typeof one === 'string') : []
}

const compareRequired = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  const [old, now] = [new Set(namesIn(before, 'required')), new Set(namesIn(after, 'required'))]
  for (const name of now) {
    if (old.has(name)) continue
    const isNew = member(fieldsOf(before), name) === undefined
    const text = isNew ? 'New, and required.' : 'Is required now.'
    to.tell(`${pointer}/${escapePointer(name)}`, 'fewer', text)
  }
  for (const name of old) {
    if (!now.has(name)) to.tell(`${pointer}/${escapePointer(name)}`, 'more', 'Is not required any more.')
  }
  if (!isSameKeyword(to.documents, 'dependentRequired', before, after))
    to.tell(pointer, 'unclear', 'Which fields need which others changed.')
}

/** Whether patterns of names are there: none, or some; they are compared as a whole. */
const comparePatterns = (to: Comparing, pointer: string, before: Schema, after: Schema): 'none' | 'some' => {
  const [old, now] = [keyword(before, 'patternProperties'), keyword(after, 'patternProperties')]
  if (old === undefined && now === undefined) return 'none'
  if (!isSameKeyword(to.documents, 'patternProperties', before, after))
    to.tell(pointer, 'unclear', 'What patterns of names allow changed.')
  return 'some'
}

const compareNames = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  const [old, now] = [keyword(before, 'propertyNames'), keyword(after, 'propertyNames')]
  if (old === undefined && now === undefined) return
  if (isSameKeyword(to.documents, 'propertyNames', before, after)) return
  if (old === undefined) to.tell(pointer, 'fewer', 'The names of fields are limited now.')
  else if (now === undefined) to.tell(pointer, 'more', 'The names of fields are not limited any more.')
  else to.tell(pointer, 'unclear', 'Which names fields may have changed.')
}
