import type { BaseMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../../errors.js";
import { groupMessages } from "../calls/group.js";
import { soundMessages } from "../reading/read-messages.js";
import { countTokens } from "./count-tokens.js";

/** How much of the end of a history to keep: a number of messages, or of estimated tokens. */
export type Keep = { readonly messages: number } | { readonly tokens: number };

/**
 * Finds the index of the first message to keep such that no group is split. No result after the cut answers a
 * call before it, even in lists where groups are interleaved. The open group stays complete while it has
 * pending calls.
 *
 * The cut moves back from the requested place to include a complete group. It moves forward only if nothing
 * but system messages would be before it. Returns 0 if the history cannot be cut or does not need to be.
 *
 * @param given The messages of a history.
 * @param keep How much to keep: `{ messages }` or `{ tokens }`, an integer of 0 or more.
 * @throws InvalidSettingError if the number is not an integer of 0 or more.
 * @throws InvalidMessageError if `given` is not a list of messages.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
 * import { findSafeCutoff } from "langgraph-tether";
 *
 * const history = [
 *   new HumanMessage("Hello!"),
 *   new AIMessage("Hi!"),
 *   new HumanMessage("What is the weather in Paris?"),
 *   new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: { city: "Paris" } }] }),
 *   new ToolMessage({ tool_call_id: "c1", content: "18 °C" }),
 * ];
 * // Keeping one message would keep the result without its call, so the cut moves back.
 * console.log(findSafeCutoff(history, { messages: 1 })); // 3
 * ```
 */
export function findSafeCutoff(given: readonly BaseMessage[], keep: Keep): number {
  const messages = soundMessages(given);
  if (typeof keep !== "object" || keep === null || !("messages" in keep || "tokens" in keep)) {
    throw InvalidSettingError.expected("keep", "{ messages: number } or { tokens: number }", keep);
  }
  const requested =
    "messages" in keep ? cutByCount(messages, keep.messages) : cutByTokens(messages, keep.tokens);
  if (requested === 0) return 0;
  const isSafe = safeCuts(messages);
  const firstUseful = messages.findIndex((message) => message.type !== "system") + 1;
  if (firstUseful === 0) return 0;
  const before = isSafe.lastIndexOf(true, requested);
  if (before >= firstUseful) return before;
  const after = isSafe.indexOf(true, Math.max(requested, firstUseful));
  return after < messages.length ? Math.max(after, 0) : 0;
}

function cutByCount(messages: readonly BaseMessage[], count: number): number {
  return Math.max(0, messages.length - wholeNumber("messages", count));
}

function cutByTokens(messages: readonly BaseMessage[], budget: number): number {
  let left = wholeNumber("tokens", budget);
  let cut = messages.length;
  for (const message of messages.toReversed()) {
    left -= countTokens(message);
    if (left < 0) break;
    cut -= 1;
  }
  return cut;
}

/** @throws InvalidSettingError for any other number. */
export function wholeNumber(setting: string, value: number): number {
  if (Number.isInteger(value) && value >= 0) return value;
  throw InvalidSettingError.expected(setting, "an integer of 0 or more", value);
}

/** For each index from 0 to the length: whether a cut there splits no group. */
export function safeCuts(messages: readonly BaseMessage[]): boolean[] {
  const { groups } = groupMessages(messages);
  const ends = new Map(groups.map(({ start, end }) => [start, end]));
  const open = groups.at(-1);
  // The results of its pending calls will come after everything in the list.
  if (open?.results.includes(undefined)) ends.set(open.start, messages.length + 1);
  const isSafe: boolean[] = [];
  let reach = 0;
  for (let index = 0; index <= messages.length; index += 1) {
    isSafe.push(reach <= index);
    reach = Math.max(reach, ends.get(index) ?? 0);
  }
  return isSafe;
}
