/** What the function returns; `otherwise` if it throws. For values whose getters or traps can throw. */
export function safely<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
