// A real browser for the tests: Debian's Chromium, found or installed. Best without windows, as its headless shell: its pages take
// a good third less of the processor.
import { installPackages, mayInstallPackages, onPath } from './apt.mjs'

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** Path of a Chromium, or undefined. PSHUB_TEST_BROWSER names one outright. */
export const findBrowser = () => process.env.PSHUB_TEST_BROWSER || names.map(onPath).find(Boolean)

/** The first of these packages that there is; older systems lack the first one. */
const installAny = (...packages) => {
  for (const [at, name] of packages.entries()) {
    try {
      return installPackages(name)
    } catch (error) {
      if (at === packages.length - 1) throw error
    }
  }
}

/** The same, installing Debian's package where that needs no answer from anybody. Throws with what to do instead. */
export const ensureBrowser = () => {
  const found = findBrowser()
  if (found) return found
  if (mayInstallPackages()) {
    installAny('chromium-headless-shell', 'chromium')
    const installed = findBrowser()
    if (installed) return installed
  }
  throw new Error(
    'The tests of the pages need Chromium. Install it (apt-get install chromium-headless-shell, or Google Chrome) so that it is on the ' +
      'PATH, or name it in PSHUB_TEST_BROWSER.',
  )
}
