import type { Dialect, RuleName } from "../../dialects/rule.js";

/** Where the demand of a provider was reported: of the first of these rules that the dialect has, and whose source is known. */
export function sourceOf(_dialect: Dialect, _rules: readonly RuleName[]): { readonly source?: string } {
  return {};
}
