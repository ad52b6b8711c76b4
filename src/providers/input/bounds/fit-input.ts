import type { BaseMessage } from "@langchain/core/messages";
import type { Target } from "../../dialects/maker.js";
import { formMessages, projectMessages } from "../project-messages.js";
import type { BoundStep } from "./bound-steps.js";
import { type BoundName, type InputChange, InputDraft } from "./input-draft.js";
import { sizeOf } from "./shorten-message.js";

/** An input in the form in which it is sent. */
export interface FittedInput {
  readonly messages: readonly BaseMessage[];
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
export function fitInput(
  input: readonly BaseMessage[],
  target: Target,
  bounds: readonly Bound[],
): FittedInput {
  const kinds = new Map<string | undefined, InputChange>();
  let messages = input;
  let projected = projectMessages(messages, target);
  for (const { name, tokens, steps } of bounds) {
    let excess = sizeOfInput(projected) - tokens;
    if (excess <= 0) continue;
    // What is cut has the form in which it is sent. Neighbours are not merged yet, so each has its id.
    const formed = formMessages(messages, target);
    let draft = new InputDraft(formed, tokens, excess);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      draft = new InputDraft(formed, tokens, excess);
      for (const step of steps) if (draft.excess > 0) step(draft);
      messages = draft.messages();
      projected = projectMessages(messages, target);
      const left = sizeOfInput(projected) - tokens;
      if (left <= 0) break;
      excess += left;
    }
    for (const change of draft.changes(name)) kinds.set(change.id, change);
  }
  return { messages: projected, changes: [...kinds.values()] };
}

export function sizeOfInput(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}
