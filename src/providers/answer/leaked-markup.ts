/**
 * Tool calls that a provider failed to parse, and that appear in the text as the model's own markup. They never
 * become tool calls, so the turn would end as if the work had been done.
 */

/** Bars and spaces are written in several ways, even by the same model. */
const BAR = "[|｜‖]";
const GAP = "[\\s_▁]";

const OPENINGS: readonly RegExp[] = [
  /** DeepSeek: `<｜tool▁calls▁begin｜>`. Kimi: `<|tool_calls_section_begin|>`. */
  new RegExp(`<${BAR}tool${GAP}calls?(?:${GAP}section)?${GAP}begin${BAR}>`, "gu"),
  /** DeepSeek since V3.2: `<｜DSML｜tool_calls>`, `<｜DSML｜function_calls>`, `<｜DSML｜invoke name="…">`. */
  new RegExp(`<\\s?${BAR}{1,2}\\s?DSML\\s?${BAR}{1,2}\\s?(?:tool|function|invoke)`, "gu"),
  /** Qwen, Hermes. The bare tag is not enough, because a text can mention it. */
  /<tool_call>\s*(?:\{\s*"|<function=)/gu,
];

/**
 * Whether a text contains the beginning of a tool call. Markup that is quoted as code is intended and does not count.
 */
export function hasLeakedMarkup(text: string): boolean {
  // All openings have it, and most texts do not.
  if (!text.includes("<")) return false;
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
