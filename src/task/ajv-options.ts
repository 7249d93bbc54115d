import type { Options } from 'ajv/dist/2020.js'

/** How schemas are read here, and the rules of schemas themselves. */
export const ajvOptions: Options = {
  allErrors: true,
  strict: false,
  logger: false,
  validateFormats: true,
  $data: false,
  // Without this `toString` and its like would be there in every object.
  ownProperties: true,
}
