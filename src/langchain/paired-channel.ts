/** The `messages` channel of an agent with the middleware. */

import type { BaseMessage } from "@langchain/core/messages";
import { ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { InvalidStateError } from "../errors.js";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "../history/reading/messages-schema.js";
import { isKnownHistory } from "../history/reducer/normalize-history.js";
import { pairedMessagesReducer } from "../history/reducer/paired-messages.js";
import { probeChannel } from "../langgraph/channels/probe-channel.js";
import { isError } from "../shared/is-error.js";
import { configOf, type HookRuntime } from "./runtime.js";

/** LangChain refuses an input without a value for a required key of a middleware, so this one is optional. */
const messages: ReducedValue<BaseMessage[], MessagesUpdate | undefined> = new ReducedValue(
  messagesSchema.default(() => []),
  {
    inputSchema: z.any().superRefine(checkUpdate) as z.ZodType<MessagesUpdate | undefined>,
    reducer: pairedMessagesReducer,
    jsonSchemaExtra: messagesJsonSchemaExtra,
  },
);

/**
 * LangChain builds its own error from the issues of whatever the schema of a middleware throws. It shows their paths.
 *
 * @throws InvalidMessageError that names the first value that is not a message.
 */
function checkUpdate(update: unknown): void {
  if (update === undefined) return;
  try {
    messagesUpdateSchema.parse(update);
  } catch (error) {
    throw isError(error)
      ? Object.assign(error, { issues: [{ code: "invalid_type", path: [error.message] }] })
      : error;
  }
}

export const pairedState = new StateSchema({ messages });

/**
 * Checks that the reducer of the agent's `messages` is ours. LangChain takes the first declaration of a key and ignores
 * all others without a word.
 *
 * @throws InvalidStateError if another declaration won.
 */
export function assertPaired(history: unknown, runtime: HookRuntime): void {
  if (isPaired(history)) return;
  // What the run has read from a checkpoint has not passed the reducer yet. An empty write changes nothing.
  const probed = probeChannel(configOf(runtime), "messages", []);
  if (probed === undefined || isPaired(probed)) return;
  throw new InvalidStateError(
    "messages",
    "Expected `messages` to have the reducer of `tetherMiddleware`, but the agent's `stateSchema` or a middleware " +
      "before this one declares `messages` too, and LangChain uses the first declaration. Remove that declaration, " +
      "or pass `stateSchema: tetherState()` to the agent, which wins over every middleware.",
  );
}

function isPaired(history: unknown): boolean {
  return Array.isArray(history) && isKnownHistory(history);
}
