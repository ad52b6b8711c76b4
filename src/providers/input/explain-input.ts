/** Tells for each stored message whether it is sent as it is, changed or left out, and why. */

import type { BaseMessage } from "@langchain/core/messages";
import { assertList } from "../../history/read-messages.js";
import { safely } from "../../shared/json.js";
import { addToList } from "../../shared/values.js";
import { dialectNamed } from "../dialects.js";
import { InputLineage, type Origin } from "./lineage.js";
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
  const trace = new InputLineage(history, { dialect: dialectNamed(dialect), modelId });
  const input = prepareModelInput(history, options, trace).messages as BaseMessage[];
  const sent = trace.sent();
  const inputIndexes = new Map<Origin, number[]>();
  for (const [inputIndex, { origins }] of sent.entries())
    for (const origin of origins) addToList(inputIndexes, origin, inputIndex);
  const isAdded = ({ index }: Origin): boolean => index === undefined;
  const added = sent.flatMap(({ origins }, inputIndex) =>
    origins.every(isAdded) ? [{ inputIndex, reasons: origins.flatMap(({ reasons }) => reasons) }] : [],
  );
  const stored = trace.stored.map((origin, index): StoredMessageExplanation => {
    const indexes = inputIndexes.get(origin) ?? [];
    const fate = indexes.length === 0 ? "left-out" : origin.reasons.length > 0 ? "changed" : "sent";
    // What was changed before a message was left out does not matter.
    const reasons = fate === "left-out" ? origin.reasons.slice(-1) : origin.reasons;
    return { index, id: idOf(history[index]), fate, inputIndexes: indexes, reasons };
  });
  return { input, stored, added };
}

/** A history can hold values that are not messages, and that throw when they are read. */
function idOf(message: unknown): string | undefined {
  const id: unknown = safely(() => Object(message).id, undefined);
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
