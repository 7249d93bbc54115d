import axe, { type AxeResults, type NodeResult, type Result } from 'axe-core'
import type { Page } from 'playwright-core'

/** All that can be judged of what a browser draws: WCAG 2.2 to level AA, and what axe calls best practice. */
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const textOf = ({ id, help }: Result, { target, failureSummary }: NodeResult): string =>
  `${id}: ${help}: ${target.join(' ')}: ${failureSummary?.split('\n').slice(1).join(' ').trim()}`

/** Violations of rules of accessibility on what is shown now, one text for each place. `only`: these rules and no others. */
export const violationsOn = async (page: Page, only?: readonly string[]): Promise<string[]> => {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axe.source)
  const runOnly = only ? { type: 'rule', values: only } : { type: 'tag', values: tags }
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'] })
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return violations.flatMap(violation => violation.nodes.map(node => textOf(violation, node)))
}
