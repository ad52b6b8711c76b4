/** Small parts of the pages. */

import { html } from "hono/html";
import type { Finding } from "../../../doctor/finding.js";
import type { Mark } from "../view/mark.js";
import type { DialectSoundness } from "../view/soundness.js";
import type { Html } from "./layout.js";
import { amount, timeText } from "./words.js";

/** A word with a colour. The word says what the colour says. */
export const chip = (word: string, tone = "neutral"): Html => html`<span class="chip ${tone}">${word}</span>`;

export const chips = (marks: readonly Mark[]): readonly Html[] =>
  marks.map(({ word, tone }) => chip(word, tone));

const OUTCOMES: Readonly<Record<string, readonly [word: string, tone: string]>> = {
  sound: ["sound", "good"],
  findings: ["findings", "warning"],
  unreadable: ["unreadable", "bad"],
  skipped: ["not judged", "neutral"],
};

/** @param findings How many findings are worth a look. */
export function outcomeChip(outcome: string, findings: number): Html {
  const [word, tone] = OUTCOMES[outcome] ?? [outcome, "neutral"];
  return chip(outcome === "findings" ? amount(findings, "finding") : word, tone);
}

const STATUS_TONES: Readonly<Record<string, string>> = {
  error: "bad",
  interrupted: "warning",
  busy: "neutral",
};

export const statusChip = (status: string): Html => chip(status, STATUS_TONES[status] ?? "neutral");

/** Which providers would take the messages, and which would not. */
export function soundnessList(soundness: readonly DialectSoundness[]): Html {
  if (soundness.length === 0) return html`<span class="soft">not judged</span>`;
  const sound = soundness.filter(({ broken }) => broken === 0).map(({ dialect }) => dialect);
  const faulty = soundness.filter(({ broken }) => broken > 0);
  return html`${sound.length === 0 ? "" : html`<p class="dialects">${chip("sound", "good")} ${sound.join(", ")}</p>`}${
    faulty.length === 0
      ? ""
      : html`<p class="dialects">${chip("faults", "warning")} ${faulty.map(({ dialect, broken }) => `${dialect} ${broken}`).join(", ")}</p>`
  }`;
}

export const time = (iso: string | null | undefined): Html =>
  iso == null || timeText(iso) === ""
    ? html`<span class="soft">unknown</span>`
    : html`<time datetime="${iso}">${timeText(iso)}</time>`;

/** Only addresses of the web are links: a rule's source never comes from a message, and it stays so. */
export const sourceLink = (source: string | null): Html | string =>
  source !== null && /^https?:\/\//.test(source)
    ? html` <a href="${source}" rel="noreferrer noopener">Source</a>`
    : "";

/** How many of the findings are more than information. */
export function worthALook(findings: readonly Finding[]): number {
  return findings.filter(({ severity }) => severity !== "info").length;
}
