import type { BaseMessage } from "@langchain/core/messages";
import type { Target } from "../../dialects/maker.js";
import { type Conversation, projectMessages, projectOnce } from "../project-messages.js";
import type { BoundStep } from "./bound-steps.js";
import { type BoundName, type InputChange, InputDraft } from "./input-draft.js";
import { sizeOf } from "./shorten-message.js";

/** An input in the form in which it is sent. */
export interface FittedInput {
  readonly messages: readonly BaseMessage[];
  /** Their tokens, by our estimate. */
  readonly size: number;
  /** What is not sent as the history has it, to keep the bounds. A message is named once. */
  readonly changes: readonly InputChange[];
}

export interface Bound {
  readonly name: BoundName;
  /** How many tokens the input may have, by our estimate. */
  readonly tokens: number;
  readonly steps: readonly BoundStep[];
}

/** Projecting can add short messages, so a shortened input may need a little more. */
const ATTEMPTS = 5;

/** Projects an input, and brings it under each of the bounds. The input is not changed. */
export function fitInput(input: Conversation, target: Target, bounds: readonly Bound[]): FittedInput {
  const projected = projectMessages(input, target);
  const size = projected.size();
  if (bounds.every(({ tokens }) => size <= tokens)) return { messages: projected.sent(), size, changes: [] };
  return shortened(input, target, bounds);
}

function shortened(input: Conversation, target: Target, bounds: readonly Bound[]): FittedInput {
  const kinds = new Map<string | undefined, InputChange>();
  let conversation = input;
  let projected = projectOnce(input, target);
  for (const { name, tokens, steps } of bounds) {
    let excess = projected.size() - tokens;
    if (excess <= 0) continue;
    // What is cut has the form in which it is sent. Neighbours are not merged yet, so each has its id.
    const formed = projected.formed();
    let draft = new InputDraft(formed, tokens, excess);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      draft = new InputDraft(formed, tokens, excess);
      for (const step of steps) if (draft.excess > 0) step(draft);
      conversation = conversationOf(draft.messages());
      projected = projectOnce(conversation, target);
      const left = projected.size() - tokens;
      if (left <= 0) break;
      excess += left;
    }
    for (const change of draft.changes(name)) kinds.set(change.id, change);
  }
  return { messages: projected.sent(), size: projected.size(), changes: [...kinds.values()] };
}

/** The system message is first. Steps do not change its place. */
function conversationOf(messages: readonly BaseMessage[]): Conversation {
  const [first] = messages;
  return first?.type === "system"
    ? { system: first, messages: messages.slice(1) }
    : { system: undefined, messages };
}

export function sizeOfInput(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}
