import { exitCodes } from './exit-codes.ts'

/** Waits for something of others. With nothing left that could end it, Node would leave without a word. */
export const orStuck = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  const onStuck = () => {
    console.error(`${what} waits for something that never happens.`)
    process.exit(exitCodes.failed)
  }
  process.once('beforeExit', onStuck)
  try {
    return await act()
  } finally {
    process.off('beforeExit', onStuck)
  }
}
