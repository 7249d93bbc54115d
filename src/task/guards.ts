/** Steps in Redis, across all workers of its namespace. They reject as Redis does, or when there is no connection. */
export interface Guards {
  /**
   * Takes a lock for `leaseMs`, or renews it; with 0 frees it. `mayTake` false: only what this owner holds. Resolves with the token of
   * who holds it now, or milliseconds after which to look again.
   */
  lock(name: string, owner: string, leaseMs: number, mayTake: boolean): Promise<{ fence: number } | { waitMs: number }>
  /** Resolves with 0 when one more may begin of at most `limit` in `periodMs`; else with the milliseconds until it may. */
  admit(name: string, limit: number, periodMs: number, comesBack: boolean): Promise<number>
}
