import { SavedFilters } from '../palette/saved-filters-menu.tsx'
import { Export } from '../parts/export.tsx'
import { PageHead } from '../parts/page-head.tsx'
import type { Exported } from '../rows/exported.ts'
import { count, plural } from '../text/figures.ts'

interface ListHeadProps<Row> {
  title: string
  /** What a row is: `task`. */
  one: string
  columns: Exported<Row>
  /** How many there are; undefined while that is not known. */
  all: number | undefined
  /** Those that the filters leave. */
  found: readonly Row[] | undefined
}

/** The head of a page with a list: its filters, how many rows they leave, and its export. */
export const ListHead = <Row,>({ title, one, columns, all, found }: ListHeadProps<Row>) => (
  <PageHead title={title}>
    <SavedFilters />
    {all !== undefined && found && (
      <>
        <p class="quiet" role="status">
          {found.length === all ? plural(all, one) : `${count(found.length)} of ${plural(all, one)}`}
        </p>
        <Export one={one} columns={columns} rows={found} />
      </>
    )}
  </PageHead>
)
