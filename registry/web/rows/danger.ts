/** Why a task is dangerous, in one sentence. */
export const dangerText = (danger: string | true): string => (danger === true ? 'It needs a confirmation.' : danger)
