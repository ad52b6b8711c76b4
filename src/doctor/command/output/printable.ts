/** Characters that move the cursor, change colours, or turn the direction of the text. A line break and a tab are not among them. */
const CONTROLS = /[^\P{Cc}\n\t]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * The text with `\u001b` in place of an escape character, and so on. Ids and names of tools come from clients and models,
 * and a terminal must not obey them. JSON stays the same JSON.
 */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, escapeOf);
}

/** The same on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, escapeOf);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
