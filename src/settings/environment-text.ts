/** Converts the text of an environment variable to the value of a setting. */

import { z } from "zod/v4";
import { parseJson } from "../shared/parse-json.js";

export interface EnvironmentVariable {
  readonly name: string;
  /** Contract: never throws. Returns a text that it cannot convert unchanged, and the schema of the row refuses it. */
  readonly read: (text: string) => unknown;
  /** Completes "Expected `NAME` to be …" if the row's `expects` does not describe a text. */
  readonly expects?: string;
}

const flagSchema = z.stringbool();

export function readText(text: string): string {
  return text;
}

export function readNumber(text: string): number {
  return Number(text);
}

/** A text that is not JSON stays a text. */
export function readJson(text: string): unknown {
  return parseJson(text) ?? text;
}

export function readFlag(text: string): boolean | string {
  return flagSchema.safeParse(text).data ?? text;
}

/** Reads names separated by commas. */
export function readNames(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
