import { useEffect, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { TaskDetail } from '../../contract.ts'
import { request } from '../api.ts'
import { TryIt } from '../tryit/try-it.tsx'

export const TaskPage = () => {
  const name = decodeURIComponent(useRoute().params.task ?? '')
  const [detail, setDetail] = useState<TaskDetail>()
  useEffect(() => {
    void request<TaskDetail>(`tasks/${encodeURIComponent(name)}`).then(setDetail)
  }, [name])
  return (
    <>
      <h1>{name}</h1>
      {detail && <TryIt detail={detail} />}
    </>
  )
}
