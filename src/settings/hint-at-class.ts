/** A question to put after an error, for a class in the place of its instance; empty for any other value. */
export function hintAtClass(value: unknown): string {
  return isClass(value) ? ` Did you mean \`new ${value.name}()\`?` : "";
}

function isClass(value: unknown): value is { readonly name: string } {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
