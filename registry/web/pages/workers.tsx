import { useLive, workers } from '../live.ts'

export const WorkersPage = () => {
  useLive('workers')
  return (
    <>
      <h1>Workers</h1>
      <pre>{JSON.stringify([...(workers.value?.values() ?? [])], undefined, 2)}</pre>
    </>
  )
}
