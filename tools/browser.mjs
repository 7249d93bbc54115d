// A real browser for the tests: Debian's Chromium, found or installed.
import { installPackages, mayInstallPackages, onPath } from './apt.mjs'

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** Path of a Chromium, or undefined. PSHUB_TEST_BROWSER names one outright. */
export const findBrowser = () => process.env.PSHUB_TEST_BROWSER || names.map(onPath).find(Boolean)

/** The same, installing Debian's package where that needs no answer from anybody. Throws with what to do instead. */
export const ensureBrowser = () => {
  const found = findBrowser()
  if (found) return found
  if (mayInstallPackages()) {
    installPackages('chromium')
    const installed = findBrowser()
    if (installed) return installed
  }
  throw new Error(
    'The tests of the pages need Chromium. Install it (apt-get install chromium, or Google Chrome) so that it is on the ' +
      'PATH, or name it in PSHUB_TEST_BROWSER.',
  )
}
