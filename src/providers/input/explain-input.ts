/** Tells for each stored message whether it is sent as it is, in another form or place, or not at all, and why. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { groupMessages } from "../../history/group.js";
import { contentText, copyWithPlace, placesOf } from "../../history/message.js";
import { isMessage, isMessageList, readEach } from "../../history/read-messages.js";
import { callIdOf, isResult } from "../../history/result.js";
import { coverageOf } from "../../history/summary.js";
import { coveringSummaries } from "../../history/visible-history.js";
import { safely, toJson } from "../../shared/json.js";
import { addToList, isRecord } from "../../shared/values.js";
import type { Target } from "../contract/author.js";
import type { Dialect } from "../contract/dialect.js";
import type { RuleName } from "../contract/rule.js";
import { mediaOf } from "../media/media-limits.js";
import { bridgeBetween } from "../rules/order.js";
import { ruleNamed } from "../rules/rules.js";
import { brokenRules } from "../rules/validate-history.js";
import { fitInput } from "./bounds.js";
import { whyDescribed } from "./limit-media.js";
import { isResultMedia } from "./result-media.js";
import {
  boundOf,
  checkInputOptions,
  type ModelInputOptions,
  type PreparedInputOptions,
  prepareModelInput,
  selectMessages,
} from "./to-model-input.js";

/**
 * Says what became of each message of the history in the model input: sent as it is, changed and how, or left out and
 * why. It also says which messages of the input are not stored. It compares the history with the result of {@link
 * toModelInput}, so it takes the same options. It is slower, because it reads the whole history each time. The history
 * does not change.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not accept.
 * @throws InvalidMessageError if `history` is not a list.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { explainInput } from "langgraph-tether";
 *
 * const history = [
 *   new AIMessage({ content: "", tool_calls: [{ id: "call:1", name: "weather", args: {} }] }),
 *   new HumanMessage("Are you there?"),
 * ];
 * const { stored, added } = explainInput(history, { dialect: "anthropic" });
 * console.log(stored.map(({ fate, reasons }) => `${fate} ${reasons.map(({ code }) => code)}`)); // [ 'changed missing-result,call-id', 'sent ' ]
 * console.log(added.map(({ inputIndex, reasons }) => `${inputIndex} ${reasons.map(({ code }) => code)}`)); // [ '1 placeholder' ]
 * ```
 */
export function explainInput(
  history: readonly BaseMessage[],
  options: ModelInputOptions = {},
): InputExplanation {
  checkInputOptions(options);
  return explainPrepared(history, options);
}

/** The same for an input that is made with more options than users have. */
export function explainPrepared(
  history: readonly BaseMessage[],
  options: PreparedInputOptions,
): InputExplanation {
  const input = prepareModelInput(history, options).messages as BaseMessage[];
  const { maxTokens, systemPrompt = "" } = options;
  const read = isMessageList(history) ? history : readEach(history, () => {});
  // Copies know their places, so the input is made again from copies.
  const copies = Array.from(read, (message, place) => message && copyWithPlace(message, place));
  const marked = copies.filter((message) => message !== undefined);
  const kept = read.filter((message) => message !== undefined);
  const lists = selectMessages(marked, options);
  const fitted = fitInput(lists.input, lists.target, boundOf(kept, lists.target, options));
  const parts = fitted.messages.map(placesOf);

  const isPromptJoined =
    systemPrompt.trim() !== "" &&
    !parts.some((places, index) => places.length === 0 && isSystem(input[index]));
  const sentAt = new Map(parts.flatMap((places, index) => places.map((place) => [place, index] as const)));
  const moved = movedIn(copies, parts.flat());
  const broken = new Map<number, RuleName[]>();
  for (const { rule, index } of brokenRules(marked, lists.target.dialect))
    for (const place of marked.slice(index, index + 1).flatMap(placesOf)) addToList(broken, place, rule);
  const causesOf = causeFinder(copies, lists, fitted.changes, maxTokens);
  const { dialect: entry } = lists.target;
  const tellRule = (rule: RuleName) => ofRule(rule, entry);

  const stored = Array.from(history, (value, index): StoredMessageExplanation => {
    const at = sentAt.get(index);
    const sent = at === undefined ? undefined : input[at];
    const fateOf = (): StoredMessageExplanation["fate"] => {
      if (at === undefined || sent === undefined) return "left-out";
      const isJoined = sent.type === "system" && sent !== value && isPromptJoined;
      if (isJoined || (parts[at]?.length ?? 0) > 1) return "joined";
      if (moved.has(index)) return "moved";
      return sent === value ? "sent" : "changed";
    };
    const fate = fateOf();
    const rules = [...new Set(broken.get(index))];
    const ofContent = rules.filter((rule) => ruleNamed(rule).about === "content");
    const causes = [...causesOf(index, value, sent)];
    const told = { index, id: idOf(value), fate };
    if (at === undefined || sent === undefined) {
      // If a message is not sent, only the cause of that matters.
      const lost =
        copies[index] !== undefined && saysSomething(copies[index]) ? [tellRule("foreign-state")] : [];
      const [cause = BLANK] = [...causes, ...lost, ...ofContent.map(tellRule)];
      return { ...told, inputIndexes: [], reasons: [cause] };
    }
    if (read[index] !== value) causes.push(REPAIRED);
    if (causes.length + ofContent.length === 0 && fate !== "joined" && sent !== value)
      causes.push(formChanged(value, sent));
    return { ...told, inputIndexes: [at], reasons: [...rules.map(tellRule), ...causes] };
  });
  // Each added message is explained by its neighbours besides system messages.
  const talk = input.filter((message) => !isSystem(message));
  let passed = 0;
  const added = input.flatMap((message, inputIndex): AddedMessageExplanation[] => {
    const before = talk[passed - 1];
    if (!isSystem(message)) passed += 1;
    if (parts[inputIndex]?.length) return [];
    return [{ inputIndex, reasons: [whyAdded(message, before, talk[passed], entry)] }];
  });
  return { input, stored, added };
}

/*
 * Finds out which messages are sent in another place, and which are not sent.
 */

/** Results, system messages and summaries are sent in other places. All other messages keep their order. */
function movedIn(
  stored: readonly (BaseMessage | undefined)[],
  order: readonly number[],
): ReadonlySet<number> {
  const isFixed = (place: number): boolean => {
    const message = stored[place];
    if (message === undefined || isResult(message) || message.type === "system") return false;
    return coverageOf(message) === undefined;
  };
  const fixed = order.filter(isFixed);
  const moved = new Set<number>();
  let passed = 0;
  let last = -1;
  for (const place of order) {
    if (isFixed(place)) passed += 1;
    if (place < last || place > (fixed[passed] ?? stored.length)) moved.add(place);
    else last = place;
  }
  return moved;
}

/** Makes the function that finds the first list on the way to the input in which a message is missing. */
function causeFinder(
  stored: readonly (BaseMessage | undefined)[],
  lists: ReturnType<typeof selectMessages>,
  changes: ReturnType<typeof fitInput>["changes"],
  maxTokens: number | undefined,
) {
  const messages = stored.filter((message) => message !== undefined);
  const summaries = shownSummaries(messages);
  const { refusedAt } = groupMessages(messages);
  const kinds = new Map([...refusedAt].map(([index, kind]) => [messages[index], kind]));
  const { dialect } = lists.target;
  const [paired, read, filtered] = [lists.paired, lists.read, lists.filtered].map(byPlace);
  const bounded = byPlace(changes.map(({ message }) => message));
  const retold = new Set(lists.note && placesOf(lists.note));
  const bound = `The messages may have ${maxTokens} tokens, so`;

  return function* causesOf(
    place: number,
    value: unknown,
    sent: BaseMessage | undefined,
  ): Generator<InputReason> {
    const message = stored[place];
    const call = message !== undefined && isResult(message) ? `"${callIdOf(message)}"` : "";
    if (message === undefined) {
      yield isMessage(value) ? REMOVED : NO_MESSAGE;
    } else if (paired?.get(place) === undefined) {
      const summary = summaries.get(message);
      const kind = kinds.get(message);
      if (summary !== undefined)
        yield { code: "covered", text: `The summary "${summary.id ?? ""}" represents it.` };
      else if (kind === "duplicate")
        yield ofRule("duplicate-result", dialect, `Another result of the call ${call} is sent.`);
      else if (kind === "orphan")
        yield ofRule("orphan-result", dialect, `No call before it has the id ${call}.`);
      else yield { code: "covered", text: `A summary represents the call ${call}.` };
    } else if (read?.get(place) === undefined) {
      yield COMPACTED;
    } else {
      if (call !== "" && sent !== undefined && sent.type !== "tool")
        yield {
          code: "covered",
          text: `A summary represents the call ${call}, so the result is told as a text.`,
        };
      if (retold.has(place)) yield RETOLD;
      else yield* describedMediaOf(message, lists.target);
      if (filtered?.get(place) !== read.get(place)) yield FILTERED;
      else if (bounded.has(place))
        yield sent === undefined
          ? { code: "over-window", text: `${bound} the oldest messages are left out.` }
          : { code: "shortened", text: `${bound} a part of it is sent.` };
    }
  };
}

/** Why sentences replace the message's pictures and files. */
function describedMediaOf(message: BaseMessage, target: Target): readonly InputReason[] {
  const whys = mediaOf([message]).flatMap(({ shown }) => whyDescribed(shown, target) ?? []);
  return [...new Set(whys)].map((why) => ({
    code: "described",
    text: `A sentence stands in the place of a picture or file, because ${why}.`,
  }));
}

function byPlace(messages: readonly BaseMessage[]): ReadonlyMap<number, BaseMessage> {
  return new Map(messages.flatMap((message) => placesOf(message).map((place) => [place, message] as const)));
}

/** The summary that is sent in place of each message. A later summary can cover the first one. */
function shownSummaries(history: readonly BaseMessage[]): ReadonlyMap<BaseMessage, BaseMessage> {
  const covering = coveringSummaries(history);
  const shown = new Map<BaseMessage, BaseMessage>();
  for (const message of history.toReversed()) {
    const summary = message.id === undefined ? undefined : covering.get(message.id);
    if (summary !== undefined) shown.set(message, shown.get(summary) ?? summary);
  }
  return shown;
}

/*
 * Words for what was found.
 */

const NO_MESSAGE: InputReason = { code: "not-a-message", text: "The value is not a message." };
const REMOVED: InputReason = { code: "removed", text: "A removal in the history takes it out." };
const REPAIRED: InputReason = {
  code: "repaired",
  text: "A field had a wrong type, or the message was not an instance of a message class.",
};
const COMPACTED: InputReason = {
  code: "compacted",
  text: "The provider has compacted the conversation after it, and does not read it any more.",
};
const FILTERED: InputReason = {
  code: "filtered",
  text: "`maxToolCallsFromHistory` leaves out calls of earlier turns, and these are among them.",
};
const RETOLD: InputReason = {
  code: "retold",
  text: "The provider has refused the conversation, so one text tells what lies before the current turn.",
};
const BLANK: InputReason = { code: "blank", text: "It says nothing." };

/** If nothing of it is sent, all of it was for another model. */
function saysSomething(message: BaseMessage): boolean {
  return isAIMessage(message) && contentText(message).trim() !== "";
}

/** A reason that follows from a rule. It names where the provider's demand was reported or documented. */
function ofRule(
  rule: RuleName,
  { rules }: Dialect,
  text = ruleNamed(rule).meaning,
  code: InputReasonCode = rule,
): InputReason {
  const source = rules[rule]?.source;
  return { code, text, ...(source !== undefined && { source: `https://github.com/${source}` }) };
}

function formChanged(before: object, after: object): InputReason {
  const text = `These fields are sent in another form, or not at all: ${changedFields(before, after).join(", ")}.`;
  return { code: "form", text };
}

function changedFields(before: object, after: object, level = 0): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [old, next]: unknown[] = [Reflect.get(before, name), Reflect.get(after, name)];
    if (name.startsWith("lc_") || toJson(old) === toJson(next)) return [];
    if (level > 0 || !isRecord(old) || !isRecord(next)) return name;
    return changedFields(old, next, 1).map((inner) => `${name}.${inner}`);
  });
}

function whyAdded(
  message: BaseMessage,
  before: BaseMessage | undefined,
  after: BaseMessage | undefined,
  dialect: Dialect,
): InputReason {
  if (message.type === "system")
    return { code: "system-prompt", text: "It is the system prompt of the request." };
  if (isResult(message)) {
    const text = `The call "${callIdOf(message)}" has no result. Providers refuse a call without one.`;
    return ofRule("missing-result", dialect, text, "placeholder");
  }
  if (isResultMedia(message)) {
    const text =
      "It has the pictures and files of the results before it. Results of this dialect hold only texts.";
    return { code: "result-media", text };
  }
  const bridge = bridgeBetween(before, after, dialect.rules);
  if (bridge === undefined || bridge.message.content !== message.content)
    return { code: "gap-note", text: "It says how many messages are left out here." };
  const text = `The provider would refuse the input without it. ${ruleNamed(bridge.rule).meaning}`;
  return ofRule(bridge.rule, dialect, text, "bridge");
}

function isSystem(message: BaseMessage | undefined): boolean {
  return message?.type === "system";
}

/** A history can hold values that are not messages and that throw when they are read. */
function idOf(message: unknown): string | undefined {
  const id: unknown = safely(() => Object(message).id);
  return typeof id === "string" ? id : undefined;
}

/** What {@link explainInput} returns. */
export interface InputExplanation {
  /** The same list as `toModelInput(history, options)`. */
  readonly input: BaseMessage[];
  /** One entry for each message of `history`, in its order. */
  readonly stored: readonly StoredMessageExplanation[];
  /** One entry for each message of `input` that no message of the history became, in its order. */
  readonly added: readonly AddedMessageExplanation[];
}

/** What became of one message of the history. */
export interface StoredMessageExplanation {
  /** Its index in the history. */
  readonly index: number;
  readonly id: string | undefined;
  /**
   * The first that fits:
   *
   * - `left-out`: it is not sent.
   * - `joined`: it is a part of one message, with others or with the system prompt.
   * - `moved`: it is sent in another place than the history has it, and perhaps in another form.
   * - `changed`: it is sent in another form.
   * - `sent`: it is sent as it is stored.
   */
  readonly fate: "sent" | "changed" | "moved" | "joined" | "left-out";
  /** The indexes in `input` at which it is sent. Empty if it is left out. */
  readonly inputIndexes: readonly number[];
  /**
   * If it is left out, why. If it is sent, first the dialect's rules that it breaks in the history, as
   * `validateHistory` finds them, and then what else changed it. A message that is sent as it is can also break rules:
   * then the messages around it are changed.
   */
  readonly reasons: readonly InputReason[];
}

/** A message of the input that is not stored. */
export interface AddedMessageExplanation {
  /** Its index in `input`. */
  readonly inputIndex: number;
  /** Why it is there. */
  readonly reasons: readonly InputReason[];
}

/** Why a message is changed, left out or added. */
export interface InputReason {
  /** The name of a rule, or another cause. Stable. */
  readonly code: InputReasonCode;
  /** One sentence for people. It contains ids and names, and no text of messages. */
  readonly text: string;
  /** Where a provider's demand is documented or was reported, as a URL. */
  readonly source?: string;
}

/** The code of a reason. */
export type InputReasonCode =
  /** A rule of the dialect that the stored message breaks. */
  | RuleName
  /** Left out: the value is not a message. */
  | "not-a-message"
  /** Left out: a removal in the list names it, or it is the removal. */
  | "removed"
  /** Left out, or told as a text: a summary represents it, or its call. */
  | "covered"
  /** Left out: the provider has compacted it itself. */
  | "compacted"
  /** Left out, or sent with fewer calls: `maxToolCallsFromHistory`. */
  | "filtered"
  /** Left out: it says nothing. */
  | "blank"
  /** Left out: the input would be longer than `maxTokens`. */
  | "over-window"
  /** Changed: only a part is sent, because the input would be longer than `maxTokens`. */
  | "shortened"
  /** Changed: its picture or file is described, because the provider does not accept it or has refused it. */
  | "described"
  /**
   * Changed: one text replaces everything before the current turn, because the provider has refused the conversation.
   */
  | "retold"
  /** Changed: a malformed field was brought into a sound form. */
  | "repaired"
  /** Changed: the dialect has another form for it, although no known rule refuses the stored one. */
  | "form"
  /** Added: the system prompt. */
  | "system-prompt"
  /** Added: a placeholder for a missing result. */
  | "placeholder"
  /** Added: a short message between others, where the provider demands one. */
  | "bridge"
  /** Added: the pictures and files of the results before it, which hold only texts at this provider. */
  | "result-media"
  /** Added: a note in place of left-out messages. */
  | "gap-note";
