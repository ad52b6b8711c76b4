/** A question for the end of an error, if the value is a class and should be an instance of it; else an empty text. */
export function hintAtClass(value: unknown): string {
  return isClass(value) ? ` Did you mean \`new ${value.name}()\`?` : "";
}

function isClass(value: unknown): value is { readonly name: string } {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
