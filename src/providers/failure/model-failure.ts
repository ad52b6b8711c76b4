/** Turns an error of a model into a `ModelError` without keys. */

import type { BaseMessage } from "@langchain/core/messages";
import { type BrokenRule, ModelError, TetherError } from "../../errors.js";
import { isLangGraphSignal } from "../../langgraph/is-langgraph-signal.js";
import { dialectOf } from "../dialects/dialect-of.js";
import { addressOf } from "./address-of.js";
import { concernsMessages, explainRefusal } from "./explain-refusal.js";
import { readOverflow } from "./overflow.js";
import { providerTextOf, rootOf, toPlainError } from "./plain-error.js";
import { createRedact, type Redact } from "./redact.js";
import { publishRefusal } from "./refusal-channel.js";
import { isAbortError, isUnreachable, statusOf } from "./transport-error.js";

export interface FailedRequest {
  readonly model: object;
  /** The messages that were sent. */
  readonly messages: readonly BaseMessage[];
  readonly signal?: AbortSignal | undefined;
}

/** Passes the chunks on. An error is turned into one by {@link toModelError}. */
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
 * Turns an error of a model into a `ModelError` with the provider's text and, for a refused history, the rule that it
 * breaks. An abort, a LangGraph signal and our other errors are returned unchanged.
 *
 * Clients put the request into their errors, and providers repeat keys in their texts. So only the texts and codes of
 * the error are kept, without known keys and without anything that looks like a key.
 */
export function toModelError(error: unknown, { model, messages, signal }: FailedRequest): unknown {
  if (signal?.aborted) return signal.reason ?? error;
  if (isAbortError(error) || isLangGraphSignal(error)) return error;
  if (TetherError.isInstance(error) && error.cause === undefined) return error;
  const redact = createRedact(model);
  const cause = toPlainError(error, redact);
  // Our own error with a known message, caused by a client's error.
  if (TetherError.isInstance(error)) return new ModelError(error.message, { cause: cause.cause });
  const text = textOf(cause, error, model, redact);
  const status = statusOf(error);
  const isTooLong = readOverflow(error) !== undefined;
  const dialect = dialectOf(model);
  const brokenRule = isTooLong ? undefined : explainRefusal({ status, text, messages, dialect });
  if (isTooLong) publishRefusal({ kind: "overflow", dialect, rule: undefined });
  else if (brokenRule !== undefined || concernsMessages(status))
    publishRefusal({ kind: "rule", dialect: brokenRule?.dialect ?? dialect, rule: brokenRule?.rule });
  const message = `${headline(status)}: ${text}${explain(brokenRule, text)}`;
  return new ModelError(message, { cause, status, brokenRule });
}

/** A client's error in one line without keys. */
export function describeFailure(error: unknown, model: object): string {
  const redact = createRedact(model);
  return `${headline(statusOf(error))}: ${textOf(toPlainError(error, redact), error, model, redact)}`;
}

/** What the provider said. If the client did not reach it, its address, because that is usually the fault. */
function textOf(cause: Error, error: unknown, model: object, redact: Redact): string {
  const address = isUnreachable(error) ? addressOf(model) : undefined;
  if (address === undefined) return providerTextOf(cause);
  return `Connection error (${redact(address)}): ${rootOf(cause).message}`;
}

function headline(status: number | undefined): string {
  if (status === undefined) return "The model failed";
  return `The provider ${status < 500 ? "refused the request" : "failed"} with status ${status}`;
}

function explain(broken: BrokenRule | undefined, text: string): string {
  if (broken === undefined) return "";
  const { dialect, rule, index, message } = broken;
  const words = text.includes(message) ? "" : `: ${message}`;
  return ` (\`messages[${index}]\` breaks the rule \`${rule}\`, required by the dialect \`${dialect}\`${words})`;
}
