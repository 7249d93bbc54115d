import { pageOf } from '../address/query.ts'

/** Rows that show at once; more go on further pages. */
export const pageSize = 100

/** What is found, sorted, and the rows of the page that is shown. */
export interface RowsPage<Row> {
  found: Row[]
  shown: Row[]
  page: number
  pages: number
}

/** `text`: the number of the page, as the address says it. */
export const pageOfRows = <Row>(found: Row[], text: string | undefined): RowsPage<Row> => {
  const pages = Math.max(1, Math.ceil(found.length / pageSize))
  const page = pageOf(text, pages)
  return { found, shown: found.slice((page - 1) * pageSize, page * pageSize), page, pages }
}
