/** What becomes of an error that comes from a model: one error of ours, and no key in it. */

import type { BaseMessage } from "@langchain/core/messages";
import { type BrokenRule, ModelError, TetherError } from "../../errors.js";
import { isLangGraphSignal } from "../../langgraph/is-langgraph-signal.js";
import { addressOf } from "../models/address-of.js";
import { dialectOf } from "../models/dialect-of.js";
import { explainRefusal } from "./explain-refusal.js";
import { providerTextOf, rootOf, toPlainError } from "./plain-error.js";
import { createRedact } from "./redact.js";
import { isAbortError, isUnreachable, statusOf } from "./transport-error.js";

export interface FailedRequest {
  readonly model: object;
  /** What was sent. */
  readonly messages: readonly BaseMessage[];
  readonly signal?: AbortSignal | undefined;
}

/** The same chunks; what fails, fails with {@link toModelError}. */
export async function* withModelErrors<Chunk>(
  chunks: AsyncIterable<Chunk>,
  request: FailedRequest,
): AsyncGenerator<Chunk> {
  try {
    yield* chunks;
  } catch (error) {
    throw toModelError(error, request);
  }
}

/**
 * A `ModelError` that says what the provider answered and, for a refused history, which rule it breaks. An abort, a
 * signal of LangGraph and our other errors come back as they are.
 *
 * Clients put their request into their errors, and providers repeat keys in their texts: so nothing of the given
 * error is kept but its texts and codes, without what is or looks like a key.
 */
export function toModelError(error: unknown, { model, messages, signal }: FailedRequest): unknown {
  if (signal?.aborted) return signal.reason ?? error;
  if (isAbortError(error) || isLangGraphSignal(error)) return error;
  if (TetherError.isInstance(error) && error.cause === undefined) return error;
  const redact = createRedact(model);
  const cause = toPlainError(error, redact);
  // One of ours, whose message we know, with a client's error behind it.
  if (TetherError.isInstance(error)) return new ModelError(error.message, { cause: cause.cause });
  const address = isUnreachable(error) ? addressOf(model) : undefined;
  const text = address === undefined ? providerTextOf(cause) : connectionText(cause, redact(address));
  const status = statusOf(error);
  const brokenRule = explainRefusal({ status, text, messages, dialect: dialectOf(model) });
  const message = `${headline(status)}: ${text}${explain(brokenRule, text)}`;
  return new ModelError(message, { cause, status, brokenRule });
}

/** What a client's error says, in a line without keys. */
export function describeFailure(error: unknown, model: object): string {
  return `${headline(statusOf(error))}: ${providerTextOf(toPlainError(error, createRedact(model)))}`;
}

/** What keeps a client from its model is mostly a wrong address. */
function connectionText(cause: Error, address: string): string {
  return `Connection error (${address}): ${rootOf(cause).message}`;
}

function headline(status: number | undefined): string {
  if (status === undefined) return "The model failed";
  return `The provider ${status < 500 ? "refused the request" : "failed"} with status ${status}`;
}

function explain(broken: BrokenRule | undefined, text: string): string {
  if (broken === undefined) return "";
  const { dialect, rule, index, message } = broken;
  const words = text.includes(message) ? "" : `: ${message}`;
  return ` (\`messages[${index}]\` breaks the rule \`${rule}\`, which the dialect \`${dialect}\` demands${words})`;
}
