interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

/** The other side of `TestProcess`: does what it is told, and answers. */
export function answerCalls(actions: object): void {
  process.on('message', ({ id, name, args }: Call) => {
    const action = Reflect.get(actions, name) as (...args: readonly unknown[]) => Promise<unknown>
    action(...args).then(
      (result) => process.send?.({ id, result }),
      (error: Error & { code?: string }) =>
        process.send?.({ id, error: { message: error.message, code: error.code } }),
    )
  })
  process.send?.({ ready: true })
}
