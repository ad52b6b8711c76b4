import type { BaseMessage } from "@langchain/core/messages";
import { assertList } from "../../../history/reading/read-messages.js";
import { addToList } from "../../../shared/add-to-list.js";
import { safely } from "../../../shared/safely.js";
import { dialectNamed } from "../../dialects/dialects.js";
import { checkInputOptions } from "../check-input-options.js";
import { type ModelInputOptions, prepareModelInput } from "../to-model-input.js";
import type { InputExplanation, StoredMessageExplanation } from "./explanation.js";
import { InputLineage } from "./input-lineage.js";
import type { Origin } from "./lineage.js";

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
  const stored = trace.lineage.stored.map((origin, index): StoredMessageExplanation => {
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
