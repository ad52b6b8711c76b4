import type { BaseMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../errors.js";
import { countTokens } from "./count-tokens.js";
import { groupMessages } from "./group.js";

/** How much of the end of a history is to be kept: a number of messages, or of estimated tokens. */
export type Keep = { readonly messages: number } | { readonly tokens: number };

/**
 * The index of the first message to keep, such that no group is split: no result from there on answers a call
 * before it, also in lists where groups are interleaved, and the open group stays whole while calls are pending.
 * The cut moves back from the requested place to include a group; it moves forward only if there would be
 * nothing before it but system messages. 0 if the history cannot be cut, or need not be.
 *
 * @throws InvalidSettingError if the number is not an integer of 0 or more.
 */
export function findSafeCutoff(messages: readonly BaseMessage[], keep: Keep): number {
  if (typeof keep !== "object" || keep === null || !("messages" in keep || "tokens" in keep)) {
    throw InvalidSettingError.expected("keep", "{ messages: number } or { tokens: number }", keep);
  }
  const requested =
    "messages" in keep ? cutByCount(messages, keep.messages) : cutByTokens(messages, keep.tokens);
  if (requested === 0) return 0;
  const isSafe = safeCuts(messages);
  const firstUseful = messages.findIndex((message) => message.type !== "system") + 1;
  if (firstUseful === 0) return 0;
  for (let cut = requested; cut >= firstUseful; cut -= 1) if (isSafe[cut]) return cut;
  for (let cut = Math.max(requested, firstUseful); cut < messages.length; cut += 1)
    if (isSafe[cut]) return cut;
  return 0;
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

function wholeNumber(setting: string, value: number): number {
  if (Number.isInteger(value) && value >= 0) return value;
  throw InvalidSettingError.expected(setting, "an integer of 0 or more", value);
}

/** For each index from 0 to the length, whether no group lies on both sides of it. */
export function safeCuts(messages: readonly BaseMessage[]): boolean[] {
  const { groups } = groupMessages(messages);
  const ends = new Map(groups.map(({ start, end }) => [start, end]));
  const open = groups.at(-1);
  // Results of its pending calls are still to come, behind all that is there.
  if (open?.results.includes(undefined)) ends.set(open.start, messages.length + 1);
  const isSafe: boolean[] = [];
  let reach = 0;
  for (let index = 0; index <= messages.length; index += 1) {
    isSafe.push(reach <= index);
    reach = Math.max(reach, ends.get(index) ?? 0);
  }
  return isSafe;
}
