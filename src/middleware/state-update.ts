/** What a middleware writes to the state with `context.update`. */

import type { BaseMessage } from "@langchain/core/messages";
import { InvalidSettingError, MiddlewareError } from "../errors.js";
import { unansweredCalls } from "../history/calls/open-calls.js";
import { cloneMessage } from "../history/messages/clone-message.js";
import { parseMessages } from "../history/reading/messages-schema.js";
import { didYouMean } from "../shared/did-you-mean.js";
import { asObject } from "./context.js";

export interface StateUpdate {
  readonly messages: readonly BaseMessage[];
  /** The other keys of the state. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * @param keys The keys of the state.
 * @throws InvalidSettingError for a value that is not an object, or a key that the state does not have.
 * @throws InvalidMessageError for a value in `messages` that is not a message.
 * @throws MiddlewareError for a message with tool calls but without their results. Only calls of the model are run.
 */
export function readStateUpdate(changes: unknown, keys: readonly string[]): StateUpdate {
  const { messages: given, ...fields } = asObject("context.update", changes) as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (keys.includes(name)) continue;
    const known = didYouMean(name, keys) || ` The keys are: ${keys.join(", ")}.`;
    throw new InvalidSettingError(
      name,
      `\`context.update\` got \`${name}\`, which is no key of the state.${known}`,
    );
  }
  // Copies, because the middleware can change its messages later.
  const messages = given === undefined ? [] : parseMessages(given).map(cloneMessage);
  const { dangling, pending } = unansweredCalls(messages);
  const [open] = [...dangling, ...pending];
  if (open !== undefined) {
    throw new MiddlewareError(
      `\`context.update\` got a message with a call of \`${open.call.name}\` without its result. Only calls of the model are run.`,
    );
  }
  return { messages, fields };
}
