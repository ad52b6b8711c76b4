/** How the text of an environment variable becomes the value of a setting. */

import { z } from "zod";

export interface EnvironmentVariable {
  readonly name: string;
  /** Contract: never throws. A text that it cannot read is returned as it is, and the schema of the row refuses it. */
  readonly read: (text: string) => unknown;
  /** Completes "Expected `NAME` to be …", if the row's own words do not suit a text. */
  readonly expects?: string;
}

const flagSchema = z.stringbool();

export function readText(text: string): string {
  return text;
}

export function readNumber(text: string): number {
  return Number(text);
}

export function readFlag(text: string): boolean | string {
  return flagSchema.safeParse(text).data ?? text;
}

/** Names separated by commas. */
export function readNames(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
