import { AsyncLocalStorage } from "node:async_hooks";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { partsOf } from "../models/model-view.js";

/** A request that failed and will be sent again. */
export interface FailedAttempt {
  /** Which request it was; the first is 1. */
  readonly attempt: number;
  /** After this many the client gives up. */
  readonly maxAttempts: number;
  readonly error: unknown;
}

/** LangChain's `AsyncCaller`, whose fields are protected. */
interface Caller {
  readonly maxRetries: number;
  readonly maxConcurrency: number;
  onFailedAttempt: (error: unknown) => unknown;
}

/** Contract: is told of each failure that the client's own rules let it repeat, and how often it may. */
type Listener = (error: unknown, maxRetries: number) => void;

/** Clients are shared between runs, so a failure is told to the request that is being made. */
const listeners = new AsyncLocalStorage<Listener>();
const watched = new WeakSet<object>();

/**
 * Makes one request to a LangChain client, and tells of each failed attempt before the client waits to send it again:
 * such a wait can last many seconds, in which nothing else shows that the run is alive.
 *
 * The client's caller gets a handler around its own, once. What is sent again, and when, stays as it was.
 *
 * @param onRetry Contract: must not throw.
 */
export function tellRetries<Answer>(
  model: BaseChatModel,
  onRetry: ((failed: FailedAttempt) => void) | undefined,
  request: () => Promise<Answer>,
): Promise<Answer> {
  if (onRetry === undefined) return request();
  for (const client of [model, ...partsOf(model).map(([, part]) => part)])
    watch(Reflect.get(client, "caller"));
  let attempt = 0;
  return listeners.run((error, maxRetries) => {
    attempt += 1;
    if (attempt <= maxRetries) onRetry({ attempt, maxAttempts: maxRetries + 1, error });
  }, request);
}

function watch(caller: unknown): void {
  if (!isCaller(caller) || watched.has(caller)) return;
  // A queue that is full starts a request in the context of another one.
  if (caller.maxConcurrency !== Number.POSITIVE_INFINITY || !Object.isExtensible(caller)) return;
  watched.add(caller);
  const { onFailedAttempt } = caller;
  caller.onFailedAttempt = async (error) => {
    // Throws for a failure after which nothing is sent again.
    await onFailedAttempt.call(caller, error);
    listeners.getStore()?.(error, caller.maxRetries);
  };
}

function isCaller(value: unknown): value is Caller {
  return (
    typeof value === "object" &&
    value !== null &&
    "onFailedAttempt" in value &&
    typeof value.onFailedAttempt === "function" &&
    "maxRetries" in value &&
    typeof value.maxRetries === "number" &&
    "maxConcurrency" in value
  );
}
