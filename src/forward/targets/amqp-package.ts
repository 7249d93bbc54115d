/** What is used here of the package amqplib, which who uses this one need not have. */
export interface AmqpPackage {
  connect(url: string, socketOptions: { timeout: number }): Promise<AmqpConnection>
}

export interface AmqpConnection {
  createConfirmChannel(): Promise<AmqpChannel>
  close(): Promise<void>
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
}

export interface AmqpChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: object,
    onConfirmed: (error: unknown) => void,
  ): boolean
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  on(event: 'return', listener: (message?: { properties?: { messageId?: unknown } }) => void): unknown
}
