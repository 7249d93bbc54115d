/** Under which id a worker holds a job; functions that put something back know its list by that. */
export const heldAsJob = (id: string): string => `job:${id}`

/** Whether a held id, of a lost worker too, is that of a job. */
export const isHeldJob = (heldId: string): boolean => /^(lost:)?job:/.test(heldId)
