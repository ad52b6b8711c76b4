/** Parts of messages to people. */

import leven from "leven";
import { safely, toJson } from "./json.js";

/** The share of letters that can differ. */
const TOLERANCE = 1 / 3;
/** The share of a name that its beginning must have. */
const LEAST_BEGINNING = 1 / 2;

/**
 * The known name that was probably meant; undefined if none is near. Case, `_` and `-` do not count. A name's beginning
 * is near if it is long enough.
 */
export function nearestOf(given: string, known: readonly string[]): string | undefined {
  const wanted = plain(given);
  if (wanted === "") return undefined;
  const begun = known
    .filter((name) => plain(name).startsWith(wanted) && wanted.length >= plain(name).length * LEAST_BEGINNING)
    .sort((one, other) => one.length - other.length);
  if (begun[0] !== undefined) return begun[0];
  const ranked = known
    .map((name) => ({ name, distance: leven(wanted, plain(name)) }))
    .filter(({ name, distance }) => distance <= Math.max(wanted.length, plain(name).length) * TOLERANCE)
    .sort((one, other) => one.distance - other.distance);
  return ranked[0]?.name;
}

/** A question to append to an error text, with a space before it; empty if no known name is near. */
export function didYouMean(given: string, known: readonly string[]): string {
  const nearest = nearestOf(given, known);
  return nearest === undefined ? "" : ` Did you mean \`${nearest}\`?`;
}

/** Whether a field of an object seems to be a misspelt name. */
export function hasNameLike(name: string, fields: object): boolean {
  return Object.keys(fields).some((field) => field !== name && nearestOf(field, [name]) !== undefined);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** A list in words: `a`, `a or b`, `a, b or c`. */
export function listWithOr(items: readonly string[]): string {
  return [items.slice(0, -1).join(", "), ...items.slice(-1)].filter((text) => text !== "").join(" or ");
}

/** A text's beginning, which never ends inside a surrogate pair. */
export function beginningOf(text: string, length: number): string {
  return text.slice(0, length < text.length && isHighSurrogate(text, length - 1) ? length - 1 : length);
}

/** The same, with an ellipsis if something was left out. */
export function shortened(text: string, longest: number): string {
  return text.length > longest ? `${beginningOf(text, longest)}…` : text;
}

/** Whether the character at an index is the first half of a surrogate pair. */
export function isHighSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code <= 0xdbff;
}

/** The text on one line, and shortened. */
export function oneLine(text: string, longest: number): string {
  return shortened(text.replaceAll(/\s+/g, " ").trim(), longest);
}

const LONGEST_VALUE = 200;

/** The error text about a value that is not what it must be. */
export function refusalText(name: string, expectation: string, value: unknown): string {
  return `Expected \`${name}\` to be ${expectation}, got \`${formatValue(value)}\`.`;
}

function formatValue(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = typeof value === "number" ? String(value) : (toJson(value) ?? typeof value);
  return shortened(text, LONGEST_VALUE);
}

/** Characters that move the cursor, change colours, or turn the text's direction, except line breaks and tabs. */
const CONTROLS = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * The text with `\u001b` instead of an escape character, and so on. Ids and tool names come from clients and models,
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

/** Part of an address, decoded if it can be. */
export function decoded(part: string): string {
  return safely(() => decodeURIComponent(part), part);
}

/** `1,204`. */
export const count = (value: number): string => value.toLocaleString("en-US");

/** A number with its noun: `1 thread`, `1,204 threads`. */
export function amount(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The first of them: `a, b, …`. */
export function listStart(items: readonly unknown[], most: number): string {
  return [...items.slice(0, most), ...(items.length > most ? ["…"] : [])].join(", ");
}

const SPANS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** How long it is, in its largest whole unit: `2 minutes`. */
export function spanText(milliseconds: number): string {
  const [unit, length] = SPANS.find(([, least]) => milliseconds >= least) ?? ["second", 1_000];
  return amount(Math.max(0, Math.floor(milliseconds / length)), unit);
}
