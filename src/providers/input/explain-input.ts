/** Tells for each stored message whether it is sent as it is, changed or left out, and why. */

import type { BaseMessage } from "@langchain/core/messages";
import { copyMessage } from "../../history/message.js";
import { assertList, isMessage, isMessageList, readEach } from "../../history/read-messages.js";
import { safely } from "../../shared/json.js";
import { dialectNamed } from "../dialects.js";
import { InputJournal, MENDED } from "./journal.js";
import type { InputReason } from "./step.js";
import { checkInputOptions, type ModelInputOptions, prepareModelInput } from "./to-model-input.js";

/**
 * Says what became of each message of the history in the model input: sent as it is, changed and how, or left out and
 * why. It also says which messages of the input are not stored. It computes the input by the same steps as
 * {@link toModelInput}, so it takes the same options, and the input is the same. It takes longer, because it reads the
 * complete history each time. The history is not changed.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not take.
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
 * console.log(stored.map(({ fate, reasons }) => `${fate} ${reasons.map(({ code }) => code)}`)); // [ 'changed call-id-renamed', 'sent ' ]
 * console.log(added.map(({ inputIndex, reasons }) => `${inputIndex} ${reasons.map(({ code }) => code)}`)); // [ '0 bridge', '2 placeholder,call-id-renamed' ]
 * ```
 */
export function explainInput(
  history: readonly BaseMessage[],
  options: ModelInputOptions = {},
): InputExplanation {
  checkInputOptions(options);
  assertList(history);
  const { dialect = "strict", modelId } = options;
  const journal = new InputJournal({ dialect: dialectNamed(dialect), modelId });
  const read = readStored(history);
  const isSame = read.every(({ message }, index) => message === history[index]);
  const given = isSame ? history : read.flatMap(({ message }) => message ?? []);
  const input = prepareModelInput(given, options, journal).messages as BaseMessage[];

  const sent = new Map<BaseMessage | undefined, AddedMessageExplanation>();
  const added: AddedMessageExplanation[] = [];
  for (const [inputIndex, message] of input.entries()) {
    const origins = journal.originsOf(message);
    for (const { stored, reasons } of origins) sent.set(stored, { inputIndex, reasons });
    if (origins.every(({ stored }) => stored === undefined))
      added.push({ inputIndex, reasons: origins.flatMap(({ reasons }) => reasons) });
  }
  const losses = journal.lossReasons();
  const stored = read.map(({ message, reason }, index): StoredMessageExplanation => {
    const place = { index, id: idOf(history[index]) };
    const own = reason ?? [];
    const found = message && sent.get(message);
    if (found === undefined) {
      // What was changed before a message was left out does not matter.
      const reasons = [(message && losses.get(message)) ?? own].flat();
      return { ...place, fate: "left-out", inputIndexes: [], reasons };
    }
    const reasons = distinct([own, found.reasons].flat());
    const fate = reasons.length > 0 ? "changed" : "sent";
    return { ...place, fate, inputIndexes: [found.inputIndex], reasons };
  });
  return { input, stored, added };
}

interface StoredMessage {
  /** Undefined if the value is not a message, or is removed. */
  readonly message: BaseMessage | undefined;
  /** What was done when it was read. */
  readonly reason?: InputReason;
}

/** The messages of a history, each of which is an object of its own: it tells its place. */
function readStored(history: readonly BaseMessage[]): readonly StoredMessage[] {
  const read = isMessageList(history) ? history : readEach(history, () => {});
  const seen = new Set<BaseMessage>();
  return Array.from(read, (message, index): StoredMessage => {
    const value: unknown = history[index];
    if (message === undefined) return { message, reason: isMessage(value) ? REMOVED : NO_MESSAGE };
    const own = seen.has(message) ? copyMessage(message, {}) : message;
    seen.add(own);
    return message === value ? { message: own } : { message: own, reason: MENDED };
  });
}

const REMOVED: InputReason = { code: "removed", text: "A removal in the history takes it out." };
const NO_MESSAGE: InputReason = { code: "not-a-message", text: "The value is not a message." };

/** The same step can do the same to a message twice, before and after it is cut. */
function distinct(reasons: readonly InputReason[]): readonly InputReason[] {
  return reasons.filter((one, index) => reasons.findIndex(({ text }) => text === one.text) === index);
}

/** A history can hold values that are not messages, and that throw when they are read. */
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
  /** `sent`: as it is stored. `changed`: in another form, or in another place. `left-out`: not at all. */
  readonly fate: "sent" | "changed" | "left-out";
  /** The indexes in `input` at which it is sent. Empty if it is left out. */
  readonly inputIndexes: readonly number[];
  /** Why it is left out, or each change, in the order of the steps. Empty if it is sent as it is. */
  readonly reasons: readonly InputReason[];
}

/** A message of the input that is not stored. */
export interface AddedMessageExplanation {
  /** Its index in `input`. */
  readonly inputIndex: number;
  /** Why it is there. */
  readonly reasons: readonly InputReason[];
}
