/** Small parts of the pages. */

import { html } from "hono/html";
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
  findings: ["has findings", "warning"],
  unreadable: ["unreadable", "bad"],
  skipped: ["not judged", "neutral"],
};

export function outcomeChip(outcome: string): Html {
  const [word, tone] = OUTCOMES[outcome] ?? [outcome, "neutral"];
  return chip(word, tone);
}

const STATUS_TONES: Readonly<Record<string, string>> = {
  error: "bad",
  interrupted: "warning",
  busy: "neutral",
};

export const statusChip = (status: string): Html => chip(status, STATUS_TONES[status] ?? "neutral");

export function soundnessList(soundness: readonly DialectSoundness[]): Html {
  if (soundness.length === 0) return html`<span class="soft">not judged</span>`;
  return html`<ul class="dialects">${soundness.map(
    ({ dialect, broken }) =>
      html`<li class="${broken === 0 ? "good" : "warning"}">${dialect} <b>${broken === 0 ? "sound" : amount(broken, "fault")}</b></li>`,
  )}</ul>`;
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
