import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { partsOf } from "../models/model-view.js";

/** A failed request that will be sent again. */
export interface FailedAttempt {
  /** The number of the request, starting at 1. */
  readonly attempt: number;
  /** The client gives up after this many requests. */
  readonly maxAttempts: number;
  readonly error: unknown;
}

/** LangChain's `AsyncCaller`, whose fields are protected. */
interface Caller {
  readonly maxRetries: number;
  readonly maxConcurrency: number;
  onFailedAttempt: (error: unknown) => unknown;
}

/** Contract: called for each failure that the client will retry by its own rules, with its limit of retries. */
type Listener = (error: unknown, maxRetries: number) => void;

/**
 * Clients are shared between runs, so a failure is reported to the request in the current async context. It is a field
 * of LangChain's context, because Node does work for each context of a process whenever a promise is made.
 */
const LISTENER = Symbol("langgraph-tether:listener");
const watched = new WeakSet<object>();

/**
 * Makes one request to a LangChain client, and reports each failed attempt before the client waits to send it again.
 * Such a wait can last many seconds, and nothing else shows that the run is alive.
 *
 * The client's caller gets a handler around its own, once. The client still decides what is sent again, and when.
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
  const listener: Listener = (error, maxRetries) => {
    attempt += 1;
    if (attempt <= maxRetries) onRetry({ attempt, maxAttempts: maxRetries + 1, error });
  };
  const context = AsyncLocalStorageProviderSingleton.getInstance();
  // Traces read the context too, so it is extended and not replaced.
  const store = Object.create(context.getStore() ?? null, { [LISTENER]: { value: listener } });
  return context.run(store, request);
}

function currentListener(): Listener | undefined {
  return AsyncLocalStorageProviderSingleton.getInstance().getStore()?.[LISTENER];
}

function watch(caller: unknown): void {
  if (!isCaller(caller) || watched.has(caller)) return;
  // A queue that is full starts a request in the async context of another request.
  if (caller.maxConcurrency !== Number.POSITIVE_INFINITY || !Object.isExtensible(caller)) return;
  watched.add(caller);
  const { onFailedAttempt } = caller;
  caller.onFailedAttempt = async (error) => {
    // The client's handler throws if the request will not be sent again.
    await onFailedAttempt.call(caller, error);
    currentListener()?.(error, caller.maxRetries);
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
