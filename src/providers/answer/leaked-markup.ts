/**
 * Tool calls that a provider failed to parse, and that reach the reader as the model's own markup. They never become
 * calls, so the turn would end with what looks like work that was done.
 */

/** The bars and blanks are written in several ways, also by one model. */
const BAR = "[|｜‖]";
const GAP = "[\\s_▁]";

const OPENINGS: readonly RegExp[] = [
  /** DeepSeek: `<｜tool▁calls▁begin｜>`. Kimi: `<|tool_calls_section_begin|>`. */
  new RegExp(`<${BAR}tool${GAP}calls?(?:${GAP}section)?${GAP}begin${BAR}>`, "gu"),
  /** DeepSeek since V3.2: `<｜DSML｜tool_calls>`, `<｜DSML｜function_calls>`, `<｜DSML｜invoke name="…">`. */
  new RegExp(`<\\s?${BAR}{1,2}\\s?DSML\\s?${BAR}{1,2}\\s?(?:tool|function|invoke)`, "gu"),
  /** Qwen, Hermes. The bare tag is a word that an answer may use. */
  /<tool_call>\s*(?:\{\s*"|<function=)/gu,
];

/** Whether a text holds the beginning of a call. One that is quoted as code is what the model meant to say. */
export function hasLeakedMarkup(text: string): boolean {
  return OPENINGS.some((opening) =>
    [...text.matchAll(opening)].some(({ index }) => !isQuoted(text.slice(0, index))),
  );
}

function isQuoted(before: string): boolean {
  const fences = before.split("```").length - 1;
  if (fences % 2 === 1) return true;
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return (line.split("`").length - 1) % 2 === 1;
}
