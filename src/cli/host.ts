type Writing = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }

/** What a command uses of the process that it runs in. Tests run commands in their own process, with a host of their own. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Relative paths start here. */
  readonly cwd: string
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: Writing
  readonly stderr: Writing
}
