import { queues, useLive } from '../live.ts'

export const QueuesPage = () => {
  useLive('queues')
  return (
    <>
      <h1>Queues</h1>
      <pre>{JSON.stringify([...(queues.value?.values() ?? [])], undefined, 2)}</pre>
    </>
  )
}
