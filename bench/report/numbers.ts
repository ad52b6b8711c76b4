/** How numbers are written. */

import type { Spread } from "./results.js";

/** With three digits, and commas between thousands. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 20 });
}

const UNITS: Readonly<Record<string, readonly [larger: string, factor: number]>> = {
  µs: ["ms", 1_000],
  ms: ["s", 1_000],
  kB: ["MB", 1_000],
  tokens: ["million", 1_000_000],
};

/** In a larger unit if the number has more than four digits. */
export function amount(value: number, unit: string): string {
  const [larger, factor] = UNITS[unit] ?? [];
  if (larger === undefined || factor === undefined || value < 10_000) return `${digits(value)} ${unit}`;
  return amount(value / factor, larger);
}

/** The median, and the lowest and the highest number of a round. */
export function spreadText({ median, least, most }: Spread, unit?: string): string {
  const text = unit === undefined ? digits(median) : `${digits(median)} ${unit}`;
  const [low, high] = [digits(least), digits(most)];
  return low === high ? text : `${text} (${low} to ${high})`;
}
