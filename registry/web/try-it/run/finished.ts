import type { CallPhases } from 'pshub'
import type { ApiError } from '../../../contract.ts'
import type { JsonNode } from '../../json/text.ts'

/** What the registry answered, or this page itself says in its place. */
export type Failure = Omit<ApiError, 'title' | 'status'> & Partial<Pick<ApiError, 'title'>>

/** How a run ended. `node` is undefined when what came is not JSON; `chunks`: how many came before. */
export type Outcome =
  | { ok: true; text: string; node: JsonNode | undefined; chunks?: number }
  | { ok: false; failure: Failure }

export interface FinishedRun {
  outcome: Outcome
  atMs: number
  /** As long as this page waited. */
  tookMs: number
  id: string | undefined
  phases: CallPhases | undefined
}
