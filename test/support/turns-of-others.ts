/** How often others had their turn while this was done. */
export const turnsOfOthers = async (work: () => Promise<unknown>): Promise<number> => {
  let turns = 0
  let isOver = false
  const again = () => {
    if (isOver) return
    turns++
    setImmediate(again)
  }
  setImmediate(again)
  await work()
  isOver = true
  return turns
}
