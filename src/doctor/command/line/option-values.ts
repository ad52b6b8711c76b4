/** Reads the texts of options. Each function throws a {@link UsageError} that names the option and the text. */

import { didYouMean } from "../../../shared/did-you-mean.js";
import { listWithOr } from "../../../shared/list-with-or.js";
import { UsageError } from "../../targets/usage-error.js";

/** Contract: returns the value of the option, or throws a {@link UsageError}. */
export type ReadValue<Value> = (text: string, option: string) => Value;

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

export const readText: ReadValue<string> = (text, option) => {
  if (text === "") throw expected(option, "not empty", text);
  return text;
};

export const readCount: ReadValue<number> = (text, option) => {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || !Number.isSafeInteger(count))
    throw expected(option, "an integer of 1 or more", text);
  return count;
};

/** A span such as `7d`, in milliseconds; or a date, as the time of that date. */
export const readSince: ReadValue<
  ({ readonly span: number } | { readonly time: number }) & { readonly text: string }
> = (text, option) => {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return { text, span: Number(count) * UNITS[unit as keyof typeof UNITS] };
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw expected(option, "a span such as 30m, 12h, 7d or 2w, or a date such as 2026-01-31", text);
  return { text, time };
};

export const readPair: ReadValue<readonly [key: string, value: string]> = (text, option) => {
  const at = text.indexOf("=");
  // The value can be a secret, so the error shows nothing behind the name.
  if (at < 1) throw new UsageError(`Expected --${option} to be KEY=VALUE.`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
};

export const readAddress: ReadValue<string> = (text, option) => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new UsageError(`Expected --${option} to be an address such as http://localhost:2024.`);
  return text;
};

/** A reader of one of some names. */
export function oneOf<const Name extends string>(...names: readonly Name[]): ReadValue<Name> {
  return (text, option) => {
    const found = names.find((name) => name === text);
    if (found !== undefined) return found;
    throw new UsageError(
      `Expected --${option} to be ${listWithOr(names)}, got \`${text}\`.${didYouMean(text, names)}`,
    );
  };
}

function expected(option: string, what: string, got: string): UsageError {
  return new UsageError(`Expected --${option} to be ${what}, got \`${got}\`.`);
}
