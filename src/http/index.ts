export {
  type HttpProblem,
  type ProblemDetails,
  type ProblemOptions,
  problemOf,
  problemResponse,
  retryAfterOf,
  sendProblem,
} from './problem.ts'
export { callOptionsOf, type IncomingRequest, type RequestOptions, signalOf, timeoutOf } from './request.ts'
export { sharedHub } from './shared-hub.ts'
