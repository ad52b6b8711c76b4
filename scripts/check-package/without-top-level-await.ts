/** A CommonJS file cannot use `await` outside a function. */
export function withoutTopLevelAwait(code: string): string {
  const imports = code.match(/^import [^;]*;$/gm) ?? [];
  return `${imports.join("\n")}\nvoid (async () => {${code.replaceAll(/^import [^;]*;$/gm, "")}})();`;
}
