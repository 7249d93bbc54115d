/** Under which id a worker holds a job; functions that put something back know its list by that. */
export const heldAsJob = (id: string): string => `job:${id}`

/** Whether a held id, of a lost worker too, is that of a job. */
export const isHeldJob = (heldId: string): boolean => /^(lost:)?job:/.test(heldId)

/** Whether it is something to be done in another queue. */
export const isHeldOut = (heldId: string): boolean => heldId.startsWith('out:')

/** Where that is to be done, and for which job; undefined for what is none. */
export const heldOut = (heldId: string): { queue: string; id: string } | undefined => {
  const [, queue, id] = /^out:([\w.-]+):([\w-]+)$/.exec(heldId) ?? []
  return queue === undefined || id === undefined ? undefined : { queue, id }
}
