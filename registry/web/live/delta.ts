import type { Delta } from '../../contract.ts'

/** Rows with a delta applied: the same map when nothing changed, the same rows where nothing did, so that little is drawn. */
export const applied = <Row>(
  before: ReadonlyMap<string, Row> | undefined,
  { full, rows, gone }: Delta<Row>,
  keyOf: (row: Row) => string,
): ReadonlyMap<string, Row> => {
  if (before && !full && rows.length === 0 && gone.length === 0) return before
  const after = new Map(full ? [] : before)
  for (const key of gone) after.delete(key)
  for (const row of rows) after.set(keyOf(row), row)
  return after
}
