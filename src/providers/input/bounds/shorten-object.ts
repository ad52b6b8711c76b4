import { countTextTokens } from "../../../history/long-threads/count-tokens.js";
import { isRecord } from "../../../shared/is-record.js";
import { toJson } from "../../../shared/to-json.js";

type Fields = Readonly<Record<string, unknown>>;

const SHORTEST_TEXT = 16;
const FEWEST_ENTRIES = 3;

/**
 * Shortens the texts and the lists in a JSON object until it has at most `tokens` estimated tokens. It stays an
 * object with the same fields, as far as there is room.
 */
export function shortenObject(value: Fields, tokens: number): Fields {
  for (let longest = tokens * 4; longest >= SHORTEST_TEXT; longest = Math.floor(longest / 2)) {
    const shorter = shortenFields(value, longest);
    if (sizeOfJson(shorter) <= tokens) return shorter;
  }
  return {};
}

export function sizeOfJson(value: unknown): number {
  return countTextTokens(toJson(value) ?? "");
}

function shortenFields(value: Fields, longest: number): Fields {
  const entries = Object.entries(value);
  const most = mostEntries(longest);
  const kept = entries.slice(0, most).map(([name, inner]) => [name, shortenValue(inner, longest)] as const);
  const rest = entries.length - kept.length;
  return Object.fromEntries(rest > 0 ? [...kept, ["…", `${rest} more`]] : kept);
}

function shortenValue(value: unknown, longest: number): unknown {
  if (typeof value === "string")
    return value.length > longest
      ? `${value.slice(0, longest)}[… shortened from ${value.length} characters]`
      : value;
  if (Array.isArray(value)) {
    const kept = value.slice(0, mostEntries(longest)).map((item) => shortenValue(item, longest));
    return value.length > kept.length ? [...kept, `… ${value.length - kept.length} more`] : kept;
  }
  return isRecord(value) ? shortenFields(value, longest) : value;
}

function mostEntries(longest: number): number {
  return Math.max(FEWEST_ENTRIES, Math.floor(longest / SHORTEST_TEXT));
}
