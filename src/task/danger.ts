/** Characters that say why a task is dangerous. */
export const maxDanger = 500

/** Whether a declaration can say so: that it is, or why. */
export const isDanger = (danger: unknown): boolean =>
  typeof danger === 'boolean' || (typeof danger === 'string' && danger.trim() !== '' && danger.length <= maxDanger)
