export { keyed } from './drain.mjs'
