/** How a client is known by its shape: whether it has all of these methods. */
export function has(value: unknown, ...methods: readonly string[]): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return methods.every((method) => typeof Reflect.get(value, method) === 'function')
}
