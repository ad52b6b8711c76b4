import { forAllCopies } from "../shared/for-all-copies.js";

/** The texts that were printed. */
export const told = forAllCopies("told", () => new Set<string>());

/** Warns the developer of a program that does something else than it says. Each text is printed once in a process. */
export function warnOnce(text: string): void {
  if (told.has(text)) return;
  told.add(text);
  globalThis.process?.emitWarning?.(text, "TetherWarning");
}
