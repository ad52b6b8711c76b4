/** Numbers and times as people read them. */

import { printableLine } from "../../../doctor/command/text.js";

const LONGEST_SENTENCE = 1_000;

const numbers = new Intl.NumberFormat("en");

export const count = (value: number): string => numbers.format(value);

/** `1 message`, `2 messages`. */
export const amount = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** `2026-11-22 23:38:59 UTC`. */
export function timeText(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A sentence about a message. It has ids and names, which clients and models choose. */
export function sentence(text: string): string {
  return printableLine(text.length > LONGEST_SENTENCE ? `${text.slice(0, LONGEST_SENTENCE)}…` : text);
}
