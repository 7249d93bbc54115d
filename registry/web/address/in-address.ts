/**
 * A name as a part of an address. Half of a surrogate pair, which a stranger's name may have, cannot be in one: it is replaced, as the
 * name of something that cannot be asked for.
 */
export const inAddress = (name: string): string => encodeURIComponent(name.replace(/\p{Cs}/gu, '\ufffd'))
