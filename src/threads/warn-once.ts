/** Warnings that a process prints once. */

import { forAllCopies } from "../shared/for-all-copies.js";

export const told = forAllCopies("told", () => new Set<string>());

/** Warns the developer about a program that does not do what it says. Each text is printed once per process. */
export function warnOnce(text: string): void {
  if (told.has(text)) return;
  told.add(text);
  globalThis.process?.emitWarning?.(text, "TetherWarning");
}
