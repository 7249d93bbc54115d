/** What everything here goes through before it is shown. */
export { printable, printableJson } from '../outlets/printable.ts'
