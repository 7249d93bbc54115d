export { compareSchemas } from './compare.ts'
export { parsePointer } from './pointer.ts'
export type { ChangeKind, Direction, SchemaChange } from './report.ts'
export { isObject, member } from './schema.ts'
