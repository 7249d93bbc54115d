/** Why a task is dangerous, in one sentence. */
export const dangerText = (danger: string | true): string =>
  danger === true ? 'Running it by mistake does harm.' : danger
