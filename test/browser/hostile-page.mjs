// Runs in a page, before its own scripts: notes what payloads execute, goes where they are shown, and looks what became of
// them. It clicks by itself: to move a mouse to each link would take most of the test's time, and proves nothing here.
{
  let executed = []
  globalThis.executed = place => executed.push(place)

  /** Resolves as soon as the page shows it. */
  const until = (what, check) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = check()
        if (!found) return
        clearTimeout(timer)
        observer.disconnect()
        resolve(found)
      }
      const observer = new MutationObserver(look)
      const timer = setTimeout(() => {
        observer.disconnect()
        reject(new Error(`${what} was not shown`))
      }, 60_000)
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
      look()
    })

  /** The next turn: what an event changed is drawn by then. */
  const drawn = () => new Promise(resolve => setTimeout(resolve))

  const all = selector => [...document.querySelectorAll(selector)]
  const one = (selector, text = '') => all(selector).find(found => found.textContent.includes(text))

  /** Markup that no page of ours has: what a payload would have become. */
  const strange =
    'iframe, object, embed, base, image, marquee, audio, video, math, body style, body link, body meta, body script, ' +
    'details[ontoggle]'
  const elsewhere = /^\s*(javascript:|data:|(https?:)?\/\/(?!127\.0\.0\.1))/i
  const isForeign = ({ name, value }) =>
    /^on/.test(name) || (/^(href|src|action|formaction)$/.test(name) && elsewhere.test(value))
  const foreign = () =>
    [...all(strange), ...all('*').filter(found => [...found.attributes].some(isForeign))].map(found =>
      found.outerHTML.slice(0, 200),
    )

  /** What the page made of payloads: nothing, then the list is empty. `executed` are their places in the list of payloads. */
  const look = where => {
    const found = { where, executed, foreign: foreign() }
    executed = []
    return found.executed.length + found.foreign.length > 0 ? [found] : []
  }

  /** Clicks, waits until what it leads to is there, and looks. */
  const step = async (where, target, there) => {
    const found = await until(`what leads to ${where}`, target)
    found.click()
    await until(where, there)
    return look(where)
  }

  const parts = {
    Schema: '.schemas .json-string',
    Versions: '[aria-labelledby=versions] code',
    Charts: '[aria-labelledby=slow] td[data-name=caller]',
    Workers: '[aria-labelledby=providers] tbody tr',
    Failures: '[aria-labelledby=failures] td[data-name=message]',
    'Try it': '.task-try:not([hidden]) .tryit .field .title',
  }
  const links = 'nav[aria-label="Parts of this page"] a'

  /**
   * All parts of a task's page; `shows` is what of its payload each shows, `written` what a shell's command does. It is led
   * there as by a link of the page, which loads nothing anew.
   */
  const visitTask = async ({ path, title, shows, written }) => {
    history.pushState(null, '', path)
    dispatchEvent(new PopStateEvent('popstate'))
    const isTitle = new RegExp(`^${title}(?!\\d)`)
    await until(title, () => isTitle.test(document.querySelector('h1')?.textContent))
    const found = []
    for (const [part, place] of Object.entries(parts)) {
      const isThere = () => one(`${links}[aria-current=true]`, part) && one(place, shows)
      found.push(...(await step(`${title} ${part}`, () => one(links, part), isThere)))
    }
    const field = () => document.querySelector('[data-pointer="/plain"]')
    const example = () => one('button', 'the example')
    found.push(...(await step(`${title}, filled in`, example, () => field()?.value.includes(shows))))
    return [...found, ...(await unfold(title, written))]
  }

  /** What a run is written as, and the runs before. */
  const unfold = async (title, written) => {
    const copy = () => one('summary', 'Copy as')
    const past = () => one('summary', 'History')
    const found = await step(`${title} Copy as`, copy, () => one('details[open] pre.snippet', written))
    return [...found, ...(await step(`${title} History`, past, () => past().parentElement.open))]
  }

  /** Runs the task of this page with each of the arguments; the outcome must show all of `shows`. */
  const run = async ({ args, shows, outcome }) => {
    const where = `the run with ${JSON.stringify(args)}`
    const isShown = () => shows.every(text => one(`.outcome[data-outcome=${outcome}]`, text))
    if (isShown()) throw new Error(`${where} cannot be told from the one before`)
    const field = document.querySelector('[aria-label="Arguments as JSON"]')
    field.value = JSON.stringify(args)
    field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    await drawn()
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }))
    await until(where, isShown)
    return look(where)
  }

  const inTurn = async (list, visit) => {
    const found = []
    for (const item of list) found.push(...(await visit(item)))
    return found
  }

  globalThis.hostile = {
    /** Waits for what is to be seen on a page, and looks. */
    see: async (where, selector, count) => {
      await until(`${where}: ${count} ${selector}`, () => all(selector).length >= count)
      return look(where)
    },
    visitTasks: tasks => inTurn(tasks, visitTask),
    runAll: async (runs, written) => [...(await inTurn(runs, run)), ...(await unfold('all runs', written))],
  }
}
