export { compareSchemas } from './compare.ts'
export type { ChangeKind, Direction, SchemaChange } from './report.ts'
