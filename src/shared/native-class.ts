/** The name of a value's native class, such as `Uint8Array` or `Headers`. Every realm has its own classes of these names. */
export function nativeClassOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
