import { at, base } from '../address/paths.ts'
import { useLive } from '../live/stream.ts'
import { Empty } from '../parts/empty.tsx'
import { PageHead } from '../parts/page-head.tsx'

export const UnknownPage = () => {
  useLive('summary')
  return (
    <>
      <PageHead title="Page not found" />
      <Empty title="This page does not exist.">
        <p>
          Go to the <a href={base}>overview</a>, the <a href={at('tasks')}>tasks</a>, the{' '}
          <a href={at('workers')}>workers</a> or the <a href={at('queues')}>queues</a>.
        </p>
      </Empty>
    </>
  )
}
