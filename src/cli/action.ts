import { nearNames } from '../wire/text/near-names.ts'
import { UsageError } from './arguments.ts'

/**
 * What a command is to do, of what it can. `instead`: what else may have been meant by a text that is near none of these.
 *
 * @throws UsageError for another text, with the nearest one
 */
export const actionOf = <Action extends string>(
  command: string,
  actions: readonly Action[],
  text: string,
  instead = '',
): Action => {
  const action = actions.find(known => known === text)
  if (action) return action
  const [near] = nearNames(text, [...actions])
  const hint = near ? ` Did you mean ${near}?` : instead
  throw new UsageError(`pshub ${command} can do ${actions.join(', ')}, not '${text}'.${hint}`, command)
}
