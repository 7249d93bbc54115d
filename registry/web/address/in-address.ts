/**
 * A name as a part of an address. What cannot be in one is replaced, as the name of something that cannot be asked for: half of a surrogate pair,
 * which a stranger's name may have, and `.` and `..`, which every browser takes for steps, however they are written.
 */
export const inAddress = (name: string): string =>
  /^\.{1,2}$/.test(name) ? '%EF%BF%BD' : encodeURIComponent(name.replace(/\p{Cs}/gu, '\ufffd'))
