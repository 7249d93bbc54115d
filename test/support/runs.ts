/** How often something random is tried: few times in the gate, many times with PSHUB_LONG=1. */
export const runs = (few: number, many: number): number => (isLong ? many : few)

export const isLong = process.env.PSHUB_LONG === '1'
