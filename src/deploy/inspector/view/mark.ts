/** Words for what happened to a message. */

import type { BaseMessage } from "@langchain/core/messages";
import { MARKS } from "../../../history/marks.js";
import { causeInText, isMadeUpResult, PLACEHOLDER_KEY } from "../../../history/result.js";
import { coverageOf } from "../../../history/summary.js";
import type { InputReason, InputReasonCode } from "../../../providers/input/explain-input.js";
import { nameIn } from "./message-view.js";

/** - `good`: something was saved. - `warning`: something is missing. - `neutral`: a change of the request only. */
type Tone = "good" | "warning" | "neutral";

export interface Mark {
  /** A stable name, for counting and for JSON. */
  readonly code: string;
  /** One or a few words. */
  readonly word: string;
  readonly tone: Tone;
  /** One sentence; empty if the word says all. */
  readonly text: string;
  /** Where the rule behind it is documented; null if no provider demands it. */
  readonly source: string | null;
}

const mark = (code: string, word: string, tone: Tone, text = ""): Mark => ({
  code,
  word,
  tone,
  text,
  source: null,
});

/** What a stored message is, by its marks. */
export function marksOfStored(message: BaseMessage): readonly Mark[] {
  const given: Readonly<Record<string, unknown>> = message.additional_kwargs ?? {};
  const coverage = coverageOf(message);
  const cause = given[PLACEHOLDER_KEY] === undefined ? causeInText(message) : causeIn(given[PLACEHOLDER_KEY]);
  return [
    ...(given[MARKS.recovered] === undefined
      ? []
      : [
          mark(
            "recovered",
            "recovered",
            "good",
            "It was recovered from a run that ended before it could store it.",
          ),
        ]),
    ...(cause === undefined
      ? []
      : [mark("placeholder", `placeholder: ${cause}`, "warning", "No tool returned this result.")]),
    ...(isMadeUpResult(message)
      ? [mark("made-up", "made up", "warning", "Another program made this result up.")]
      : []),
    ...(coverage === undefined
      ? []
      : [
          mark(
            "summary",
            `summary of ${coverage.messages.length} messages`,
            "neutral",
            coverage.kind === "archive"
              ? "The messages that it covers are in the archive."
              : "The messages that it covers are in the thread.",
          ),
        ]),
    ...(given[MARKS.steered] === undefined
      ? []
      : [mark("steered", "sent during a run", "neutral", "It came while a run went on.")]),
  ];
}

/** Anyone can write to a state, so the mark can be anything. */
const causeIn = (value: unknown): string => nameIn(value) || "unknown cause";

/** Reasons that say that something is missing. All others describe a change of form. */
const WARNINGS: ReadonlySet<InputReasonCode> = new Set<InputReasonCode>([
  "not-a-message",
  "orphan-result",
  "duplicate-result",
  "filtered",
  "over-bound",
  "shortened",
  "placeholder",
  "gap-note",
]);

/** Codes that say less than a reader needs. */
const WORDS: Readonly<Partial<Record<InputReasonCode, string>>> = { "over-bound": "too long" };

/** What became of a message on its way into the request. */
export function marksOfReasons(reasons: readonly InputReason[]): readonly Mark[] {
  return reasons.map(({ code, text, source }) => ({
    code,
    word: WORDS[code] ?? code.replaceAll("-", " "),
    tone: WARNINGS.has(code) ? "warning" : "neutral",
    text,
    source: source ?? null,
  }));
}

export const LEFT_OUT = mark("left-out", "left out", "warning");
