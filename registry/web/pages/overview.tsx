import { summary, useLive } from '../live.ts'

export const OverviewPage = () => {
  useLive('summary')
  return (
    <>
      <h1>Overview</h1>
      <pre>{JSON.stringify(summary.value, undefined, 2)}</pre>
    </>
  )
}
