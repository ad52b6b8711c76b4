/** The end of an error message for a class in place of its instance; an empty text for any other value. */
export function hintAtClass(value: unknown): string {
  return isClass(value) ? ` Did you mean \`new ${value.name}()\`?` : "";
}

function isClass(value: unknown): value is { readonly name: string } {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
