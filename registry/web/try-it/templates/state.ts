import { useState } from 'preact/hooks'
import type { Template } from 'pshub'
import { taskInAddress } from '../../../call-contract.ts'
import type { TaskDetail } from '../../../contract.ts'
import type { TemplateChange, TemplateList } from '../../../job-contract.ts'
import { withoutSecrets } from '../../../schema/secrets.ts'
import { refusal } from '../../session/access.ts'
import { post, request } from '../../session/request.ts'
import type { Arguments } from '../arguments/state.ts'

export interface Templates {
  /** Undefined before they were asked for. */
  list: readonly Template[] | undefined
  most: number
  /** What became of the last thing that was done. */
  said: string
  load(): Promise<void>
  save(name: string): Promise<void>
  remove(name: string): Promise<void>
}

/** Named arguments of a task that all who run it share. */
export const useTemplates = (detail: TaskDetail, { value, textProblem }: Arguments): Templates => {
  const { task } = detail.row
  const [{ list, most }, setList] = useState<{ list: readonly Template[] | undefined; most: number }>({
    list: undefined,
    most: 0,
  })
  const [said, setSaid] = useState('')
  const load = async () => {
    const { templates, most } = await request<TemplateList>(`templates/${taskInAddress(task)}`)
    setList({ list: templates, most })
  }
  const telling = async (work: () => Promise<string>) => {
    try {
      setSaid(await work())
    } catch (error) {
      setSaid((error as Error).message)
    }
  }
  const save = (name: string) =>
    telling(async () => {
      const refused = refusal('run')
      if (refused !== undefined) return refused
      if (name.trim() === '') return 'Enter a name.'
      if (textProblem || value === undefined) return 'There are no arguments to save yet.'
      const kept = withoutSecrets(detail, value)
      if (kept.value === undefined) return 'These arguments may be secret, so they cannot be saved.'
      await post<TemplateChange>(`templates/${taskInAddress(task)}`, { name, args: kept.value, isWhole: kept.isWhole })
      await load()
      return `${name.trim()} is saved${kept.isWhole ? '' : ', without its secret fields'}.`
    })
  const remove = (name: string) =>
    telling(async () => {
      const { changed } = await post<TemplateChange>(`template-removal/${taskInAddress(task)}`, { name })
      await load()
      return changed ? `${name} is deleted.` : `${name} no longer existed.`
    })
  return {
    list,
    most,
    said,
    load: () =>
      telling(async () => {
        await load()
        return ''
      }),
    save,
    remove,
  }
}
