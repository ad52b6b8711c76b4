import type { Dialect, RuleName } from "../../dialects/rule.js";

/** Where the demand of a provider was reported: of the first of these rules that the dialect has, and whose source is known. */
export function sourceOf({ rules }: Dialect, names: readonly RuleName[]): { readonly source?: string } {
  const source = names.map((name) => rules[name]?.source).find((path) => path !== undefined);
  return source === undefined ? {} : { source: `https://github.com/${source}` };
}
