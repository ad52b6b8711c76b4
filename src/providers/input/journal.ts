/** The journal of a model input: what each step made of which messages, and why. */

import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../history/call.js";
import { groupMessages } from "../../history/group.js";
import type { Repair } from "../../history/reducer/repair.js";
import { callIdOf, isResult } from "../../history/result.js";
import { coverageOf } from "../../history/summary.js";
import { coveringSummaries, flattenVisible, type VisibleHistory } from "../../history/visible-history.js";
import { RULES, type RuleName, type Target } from "../rule.js";
import { sizeOf } from "./shorten.js";
import type { InputReason, Reason, StepReason } from "./step.js";
import { listCalls } from "./steps/calls.js";

/** Where a message of the input comes from, and what was done on the way. */
interface Origin {
  /** The message of the history. Undefined if a step added the message. */
  readonly stored: BaseMessage | undefined;
  /** In the order of the steps. */
  readonly reasons: readonly InputReason[];
}

/**
 * Each step tells of the messages that it changes, leaves out or adds. A message that no step has made is one of the
 * history. Steps can be told of that are repeated later, because only what leads to the messages of the input is read.
 *
 * Each message of the history must be an object of its own.
 */
export class InputJournal {
  readonly #target: Target;
  /** What each made message was made of. */
  readonly #sources = new Map<BaseMessage, readonly BaseMessage[]>();
  readonly #reasons = new Map<BaseMessage, InputReason[]>();
  readonly #leftOut = new Map<BaseMessage, InputReason>();

  constructor(target: Target) {
    this.#target = target;
  }

  /** The message was made of others. Of none: it was added. */
  made(message: BaseMessage, of: readonly BaseMessage[], ...reasons: readonly Reason[]): void {
    this.#sources.set(message, of);
    for (const reason of reasons) this.note(message, reason);
  }

  /** Something was done to the message, and it stays the same object. */
  note(message: BaseMessage, reason: Reason): void {
    this.#reasons.set(message, [...(this.#reasons.get(message) ?? []), this.#withSource(reason)]);
  }

  leftOut(message: BaseMessage, reason: Reason): void {
    this.#leftOut.set(message, this.#withSource(reason));
  }

  /** A step changed the message, or left it out. */
  changed(before: BaseMessage, after: BaseMessage | undefined, why: StepReason): void {
    if (after === before) return;
    const reasons = [why({ before, after, target: this.#target })].flat();
    if (after !== undefined) this.made(after, [before], ...reasons);
    else for (const reason of reasons) this.leftOut(before, reason);
  }

  /** A step changed messages of a list one by one. */
  changedEach(
    before: readonly BaseMessage[],
    after: readonly (BaseMessage | undefined)[],
    why: StepReason,
  ): void {
    for (const [index, message] of before.entries()) this.changed(message, after[index], why);
  }

  originsOf(message: BaseMessage): readonly Origin[] {
    const own = this.#reasons.get(message) ?? [];
    const sources = this.#sources.get(message);
    if (sources === undefined) return [{ stored: message, reasons: own }];
    if (sources.length === 0) return [{ stored: undefined, reasons: own }];
    return sources
      .flatMap((source) => this.originsOf(source))
      .map(({ stored, reasons }) => ({ stored, reasons: reasons.concat(own) }));
  }

  /** Why each message of the history was left out, for those that no message of the input comes from. */
  lossReasons(): ReadonlyMap<BaseMessage | undefined, InputReason> {
    const losses = new Map<BaseMessage | undefined, InputReason>();
    for (const [message, reason] of this.#leftOut)
      for (const { stored } of this.originsOf(message)) losses.set(stored, reason);
    return losses;
  }

  /** Names where the demand of a provider was reported: the first rule that the dialect has with a source. */
  #withSource({ code, text, rules = [] }: Reason): InputReason {
    const own = this.#target.dialect.rules;
    const source = rules.map((name) => own[name]?.source).find((path) => path !== undefined);
    return { code, text, ...(source !== undefined && { source: `https://github.com/${source}` }) };
  }
}

/*
 * What is said of the steps before the projection.
 */

export const MENDED: Reason = {
  code: "mended",
  text: "A field had a wrong type, or the message was not an instance of a message class.",
};

export const BLANK: Reason = { code: "blank", text: "It says nothing." };

export const whyPlainRole: StepReason = ({ before, after }) => ({
  code: "role-changed",
  text: `Not every provider knows the role ${"role" in before ? before.role : before.type}, so it is sent as ${after?.type}.`,
  rules: ["role"],
});

export const SYSTEM_JOINED: Reason = {
  code: "system-joined",
  text: "It is a part of the one system message at the front.",
  rules: ["system-position"],
};

export const SYSTEM_PROMPT: Reason = {
  code: "system-prompt",
  text: "It is the system prompt of the request.",
};

export const COMPACTED: Reason = {
  code: "compacted",
  text: "The provider has compacted the conversation after it, and does not read it any more.",
};

export const whyFiltered: StepReason = ({ before, after }) => {
  const left = new Set(after === undefined ? [] : callNames(after));
  const gone = callNames(before).filter((name) => !left.has(name));
  return {
    code: "filtered",
    text: `\`maxToolCallsFromHistory\` leaves out calls of earlier turns, and these are among them: ${gone.join(", ")}.`,
  };
};

function callNames(message: BaseMessage): readonly string[] {
  return isResult(message) ? [nameOfCall(message)] : callsOf(message).map(({ id }) => `"${id}"`);
}

/** What is said of a message that is cut to a bound. */
export function whyCut(tokens: number): StepReason {
  const bound = `The messages may have ${tokens} tokens, so`;
  return ({ before, after }) =>
    after === undefined
      ? { code: "over-bound", text: `${bound} the oldest messages are left out.` }
      : {
          code: "shortened",
          text: `${bound} ${sizeOf(after)} of its ${sizeOf(before)} tokens are sent.`,
        };
}

export const GAP_NOTE: Reason = {
  code: "gap-note",
  text: "It says how many messages are left out here.",
};

export function whyBridge(rule: RuleName): Reason {
  const text = `The provider would refuse the input without it. ${RULES[rule].meaning}`;
  return { code: "bridge", text, rules: [rule] };
}

export function whyMerged(count: number): Reason {
  const text = `It is one of ${count} messages of the same role that are sent as one.`;
  return { code: "merged", text, rules: ["alternation"] };
}

/** Summaries hide the messages that they cover. */
export function tellVisible(
  journal: InputJournal,
  history: readonly BaseMessage[],
  visible: VisibleHistory,
): void {
  const { system, summaries, lateResults, rest } = visible;
  const shown = [...system, ...summaries, ...lateResults, ...rest];
  const isShown = new Set(shown);
  const { refusedAt } = groupMessages(history);
  const summaryOf = shownSummaries(history);
  for (const [place, message] of history.entries()) {
    const refused = refusedAt.get(place);
    const summary = summaryOf.get(message);
    if (isShown.has(message)) continue;
    if (summary === undefined && refused !== undefined) tellRefused(journal, `${refused}-result`, message);
    else journal.leftOut(message, { code: "covered", text: `${nameOfSummary(summary, message)}.` });
  }
  tellMoves(journal, history, [...system, ...summaries, ...rest]);
  journal.changedEach(shown, flattenVisible(visible), ({ before }) => ({
    code: "late-result",
    text: `${nameOfSummary(undefined, before)}, so the result is told as a text.`,
  }));
}

function nameOfSummary(summary: BaseMessage | undefined, message: BaseMessage): string {
  return summary === undefined
    ? `A summary represents the call ${nameOfCall(message)}`
    : `The summary ${nameOf(summary)} represents it`;
}

/** The summary that is sent in place of each message. A later summary can cover the one that was made first. */
function shownSummaries(history: readonly BaseMessage[]): ReadonlyMap<BaseMessage, BaseMessage> {
  const covering = coveringSummaries(history);
  const shown = new Map<BaseMessage, BaseMessage>();
  for (const message of history.toReversed()) {
    const summary = message.id === undefined ? undefined : covering.get(message.id);
    if (summary !== undefined) shown.set(message, shown.get(summary) ?? summary);
  }
  return shown;
}

/** Each call has its result. */
export function tellRepairs(
  journal: InputJournal,
  history: readonly BaseMessage[],
  repaired: readonly BaseMessage[],
  repairs: readonly Repair[],
): void {
  const mended = new Map<BaseMessage, BaseMessage>();
  for (const repair of repairs) {
    const { kind } = repair;
    if (kind === "orphan-refused") tellRefused(journal, "orphan-result", repair.message);
    if (kind === "duplicate-refused") tellRefused(journal, "duplicate-result", repair.message);
    if (kind === "call-closed")
      journal.made(repair.message, [], {
        code: "placeholder",
        text: `The call ${nameOfCall(repair.message)} has no result. Providers refuse a call without one.`,
        rules: ["missing-result"],
      });
    if (kind !== "message-mended") continue;
    journal.changed(repair.message, repair.by, listCalls.why);
    mended.set(repair.message, repair.by);
  }
  tellMoves(
    journal,
    history.map((message) => mended.get(message) ?? message),
    repaired,
  );
}

function tellRefused(
  journal: InputJournal,
  code: "orphan-result" | "duplicate-result",
  message: BaseMessage,
): void {
  const id = nameOfCall(message);
  const text =
    code === "orphan-result"
      ? `No call before it has the id ${id}.`
      : `Another result of the call ${id} is sent.`;
  journal.leftOut(message, { code, text, rules: [code] });
}

/** Results, system messages and summaries are sent in other places. All other messages keep their order. */
function tellMoves(
  journal: InputJournal,
  before: readonly BaseMessage[],
  after: readonly BaseMessage[],
): void {
  const places = new Map(before.map((message, place) => [message, place]));
  const fixed = after.filter(isFixed).map((message) => places.get(message));
  let passed = 0;
  let last = -1;
  for (const message of after) {
    const place = places.get(message);
    if (isFixed(message)) passed += 1;
    if (place === undefined) continue;
    const isMoved = place < last || place > (fixed[passed] ?? before.length);
    if (isMoved) journal.note(message, whyMoved(message));
    else last = place;
  }
}

function isFixed(message: BaseMessage): boolean {
  return !isResult(message) && message.type !== "system" && coverageOf(message) === undefined;
}

function whyMoved(message: BaseMessage): Reason {
  const code = "moved";
  if (!isResult(message))
    return { code, text: "System messages and summaries are sent before the other messages." };
  const text = `It is sent after the message with the call ${nameOfCall(message)}, in the order of the calls.`;
  return { code, text, rules: ["missing-result", "result-order"] };
}

function nameOf({ id }: BaseMessage): string {
  return `"${id ?? ""}"`;
}

function nameOfCall(message: BaseMessage): string {
  return isResult(message) ? `"${callIdOf(message)}"` : nameOf(message);
}
