import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { ajvOptions } from './ajv-options.ts'

let ajv: Ajv2020 | undefined

/**
 * What is wrong with something that is to be a JSON Schema (2020-12); empty for one that is. To compile the rules for that takes a fresh
 * process longer than to compile a schema and check with it, so the built package has them compiled, in the place of this module.
 */
export const errorsOfSchema = (schema: object): ErrorObject[] => {
  ajv ??= new Ajv2020(ajvOptions)
  return ajv.validateSchema(schema) ? [] : (ajv.errors ?? [])
}
