/** The command was never written: certainly not run. */
export class NotConnected extends Error {}
/** The connection broke or stalled with the command under way: it may have run. */
export class ConnectionLost extends Error {}

/** Nothing was heard of the server: it could not be asked, or its answer was lost. */
export const isAway = (error: unknown): boolean => error instanceof NotConnected || error instanceof ConnectionLost

/** Answers of a server that will not serve us on this connection any more: a demoted master, changed credentials. */
export const isWrongServer = (error: Error): boolean => /^(READONLY|UNBLOCKED|NOAUTH|WRONGPASS)\b/.test(error.message)

/** Answers of a node of a Cluster: the key is another one's, for good or for this time. The command was not run. */
export const isMoved = (error: Error): boolean => /^(MOVED|ASK) /.test(error.message)

/** Answers that a moment later may be different; the command was not run. */
export const isPassing = (error: Error): boolean =>
  /^(LOADING|BUSY|READONLY|UNBLOCKED|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|NOREPLICAS|NOAUTH|WRONGPASS)\b/.test(
    error.message,
  )

/** The command was not run, or may have been, and sending it again may well succeed. */
export const isTransient = (error: unknown): boolean => isAway(error) || (error instanceof Error && isPassing(error))

/** An answer that will be the same until somebody changes the server or its settings; the command was not run. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ReplyError' && !isPassing(error)

/** Memory or disk of the server is full; what grows is refused. */
export const isFull = (error: Error): boolean => /^(OOM|MISCONF)\b/.test(error.message)
