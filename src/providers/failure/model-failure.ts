/**
 * What a model's error means: whether the request is sent again, another model is asked, or the caller is told, without
 * keys.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { type AsyncCallerParams, classifyRateLimitError } from "@langchain/core/utils/async_caller";
import { type BrokenRule, isTetherError, ModelError, notedReading, noteReading } from "../../errors.js";
import { causesOf, isError } from "../../shared/is-error.js";
import { shortened } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { endpointOf } from "../contract/model-view.js";
import { dialectOf, innermost } from "../table/dialect-of.js";
import { PROVIDERS } from "../table/providers.js";
import { isLangGraphSignal } from "./langgraph-signal.js";
import { readOverflow } from "./overflow.js";
import { keepStatements, statementsIn, wordsOf } from "./own-words.js";
import { createRedact, type Redact } from "./redact.js";
import { concernsMessages, explainRefusal, publishRefusal } from "./refusal.js";

/*
 * Turns a model's error into a `ModelError` without keys.
 */

interface FailedRequest {
  readonly model: object;
  readonly messages: readonly BaseMessage[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Turns a model's error into a `ModelError` with the provider's text and, for a refused history, the broken rule. An
 * abort, a LangGraph signal and our other errors are returned unchanged.
 *
 * Clients put the request into their errors, and providers repeat keys in their texts. So only the error's texts and
 * codes are kept, without known keys and without anything that looks like a key.
 */
export function toModelError(error: unknown, { model, messages, signal }: FailedRequest): unknown {
  if (signal?.aborted) return signal.reason ?? error;
  if (isAbortError(error) || isLangGraphSignal(error)) return error;
  if (isTetherError(error) && error.cause === undefined) return error;
  const redact = createRedact(model);
  const cause = toPlainError(error, redact);
  const status = statusOf(error);
  // Our own error with a known message, caused by a client's error.
  if (isTetherError(error)) {
    const said =
      isError(cause.cause) && status !== undefined
        ? ` The provider said: ${providerTextOf(cause.cause)}`
        : "";
    return new ModelError(error.message + said, { cause: cause.cause, status });
  }
  const text = failureText(cause, error, model, redact);
  const words = wordsOf(error, messages);
  const isTooLong = readOverflow(error, words) !== undefined;
  const dialect = dialectOf(model);
  const brokenRule = isTooLong ? undefined : explainRefusal({ status, text, words, messages, dialect });
  if (isTooLong) publishRefusal({ kind: "overflow", dialect, rule: undefined });
  else if (brokenRule !== undefined || concernsMessages(status))
    publishRefusal({ kind: "rule", dialect: brokenRule?.dialect ?? dialect, rule: brokenRule?.rule });
  const message = `${headline(status)}: ${text}${explain(brokenRule, text)}`;
  return new ModelError(message, { cause, status, brokenRule });
}

/**
 * The client's error itself, whose class and fields are for whoever expects this client. What it means can be read with
 * {@link modelErrorIn} and `ModelError.from`. Only what is no error of a client is converted.
 */
export function readInPlace(error: unknown, request: FailedRequest): unknown {
  const reading = toModelError(error, request);
  if (!isModelError(reading) || isTetherError(error)) return reading;
  if (isRecord(error)) noteReading(error, reading);
  return error;
}

/** A client's error in one line without keys. */
export function describeFailure(error: unknown, model: object): string {
  const redact = createRedact(model);
  return `${headline(statusOf(error))}: ${failureText(toPlainError(error, redact), error, model, redact)}`;
}

/** What the provider said. If the client did not reach it, its address, because that is usually the fault. */
function failureText(cause: Error, error: unknown, model: object, redact: Redact): string {
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

/*
 * Tells a model's failures, after which another model can be asked, from everything else.
 */

/** A program's faults. `fetch` also throws a `TypeError` when it cannot connect, in each runtime with other words. */
const FAULTS: ReadonlySet<string> = new Set(["TypeError", "ReferenceError", "RangeError", "AssertionError"]);
const NETWORK_WORDS = /\b(?:fetch|network|internet|load failed)\b/i;

export function isModelError(error: unknown): error is ModelError {
  return isTetherError(error) && error.code === "MODEL_FAILED";
}

/**
 * The model's error that was thrown, or what was read in its client's own: also in errors with its message, as LangChain
 * and users wrap it. Undefined for any other error: one that says something else is thrown for a reason of its own.
 */
export function modelErrorIn(thrown: unknown): ModelError | undefined {
  const chain = causesOf(thrown);
  const read = (error: object) => (isModelError(error) ? error : notedReading(error));
  const place = chain.findIndex((error) => read(error) !== undefined);
  const error = chain[place];
  if (error === undefined) return undefined;
  return chain.slice(0, place).every(({ message }) => message === error["message"]) ? read(error) : undefined;
}

/**
 * Whether a model has failed for this request: its provider cannot be reached, failed or refused the request, or no
 * response was complete. The client has already retried what may pass, and the guard has requested broken responses
 * again.
 *
 * False for an abort, LangGraph's signals, and a program's faults, which another model would also meet.
 */
export function failsForGood(error: unknown): error is ModelError {
  if (!isModelError(error)) return false;
  return !isProgramFault(error.cause);
}

/** Whether a program failed by a mistake of its own, and not its provider or the network. */
export function isProgramFault(error: unknown): boolean {
  if (!isError(error) || isRefusal(error) || isLost(error) || isUnreachable(error)) return false;
  const { name, message } = rootOf(error);
  return FAULTS.has(name) && !NETWORK_WORDS.test(message);
}

/** Whether a model has failed for a reason unrelated to the request, which may pass. */
export function mayPass(thrown: unknown): boolean {
  const error = modelErrorIn(thrown);
  if (error === undefined || readOverflow(error) !== undefined) return false;
  const { status, cause } = error;
  return status === undefined ? cause !== undefined : status >= 500 || PASSING.has(status);
}

/*
 * Decides which failed requests the clients of `createModel` send again. The waits are those of LangChain's
 * `AsyncCaller`.
 */

/**
 * A client's fields. It waits 1 to 2 s before the first retry and doubles the wait each time, 15 to 30 s in total. If
 * the provider names a wait, it waits that long, up to a minute each time.
 */
export const RETRY_FIELDS = { maxRetries: 4, onFailedAttempt } as const satisfies AsyncCallerParams;

/** Refusals that may pass after a moment. Any other status from 400 to 499 would come again for the same request. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
const LONGEST_WAIT_MS = 60_000;

/**
 * Contract of `AsyncCaller`: returns for a request that is sent again, throws for any other.
 *
 * The default of `AsyncCaller` gives up on a 429 without `Retry-After`, which some clients do not pass on. It also
 * retries failures that a retry cannot fix, such as a 422. A body that is not valid JSON is not retried here, because
 * the stream guard asks the model again.
 */
function onFailedAttempt(error: unknown): void {
  if (isAbortError(error) || Reflect.get(Object(error), "name") === "SyntaxError") throw error;
  const status = statusOf(error);
  if (status === undefined || status >= 500) return;
  if (!PASSING.has(status)) throw error;
  const waitMs = namedWait(error);
  if (waitMs === "never") throw error;
  // `AsyncCaller` reads it from the error.
  if (waitMs !== undefined) Object.assign(Object(error), { retryAfterMs: waitMs });
}

/**
 * The wait that the provider requests, in milliseconds. Undefined if it does not say, `"never"` if waiting does not
 * help.
 */
function namedWait(error: unknown): number | "never" | undefined {
  const limit = classifyRateLimitError(error);
  if (limit?.reason === "insufficient_quota") return "never";
  const message = String(Reflect.get(Object(error), "message"));
  const seconds = PROVIDERS.map(({ retryIn }) => retryIn?.exec(message)?.[1]).find(Boolean);
  const waitMs = seconds === undefined ? limit?.retryAfterMs : Number(seconds) * 1000;
  if (waitMs === undefined) return limit?.action === "stop" ? "never" : undefined;
  return waitMs <= LONGEST_WAIT_MS ? waitMs : "never";
}

/*
 * Tells lost connections from a provider's errors and from an abort.
 */

const TRANSPORT_CODES: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
  "UND_ERR_SOCKET",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
]);
const CUT_STREAMS = PROVIDERS.flatMap(({ cutStream = [] }) => cutStream);
const MESSAGES = new RegExp(
  `^(${["terminated|premature close|socket hang up|other side closed|network error", ...CUT_STREAMS].join("|")})$`,
  "i",
);
/** The request got no response at all. The client has already retried it often enough. */
const CONNECT_ERRORS: ReadonlySet<unknown> = new Set([
  "APIConnectionError",
  "APIConnectionTimeoutError",
  "TimeoutError",
]);

/** Node's codes for an address where no server can be reached. */
const UNREACHABLE_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * Whether a response was lost on its way from a host that was reached, or is not valid JSON because a part is missing.
 * A client names a reset before the first byte like a host that it cannot reach.
 */
export function isLost(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      (TRANSPORT_CODES.has(cause["code"]) && cause["syscall"] !== "connect") ||
      MESSAGES.test(String(cause["message"])) ||
      classNameOf(cause) === "SyntaxError",
  );
}

function isConnectError(error: unknown): boolean {
  return causesOf(error).some((cause) => CONNECT_ERRORS.has(classNameOf(cause)));
}

/** Whether no server was reached at the model's address. */
export function isUnreachable(error: unknown): boolean {
  const hasCode = causesOf(error).some(({ code }) => UNREACHABLE_CODES.has(code));
  return !isRefusal(error) && (hasCode || isConnectError(error));
}

const ABORTS: ReadonlySet<unknown> = new Set(["AbortError", "APIUserAbortError"]);

export function isAbortError(error: unknown): boolean {
  return causesOf(error).some((cause) => ABORTS.has(classNameOf(cause)));
}

/** Whether a provider refused the request. Its client has already retried every refusal that may pass. */
export function isRefusal(error: unknown): boolean {
  return statusOf(error) !== undefined;
}

/** The HTTP status of a refusal, 400 or more. Undefined if the error is not a refusal. */
export function statusOf(error: unknown): number | undefined {
  return (
    causesOf(error)
      // The clients of Mistral, Ollama and AWS have other names for it, and Tongyi's client keeps the HTTP response.
      .map(
        ({ status, statusCode, status_code, $metadata, response }) =>
          status ?? statusCode ?? status_code ?? Object($metadata).httpStatusCode ?? Object(response).status,
      )
      .find((status) => typeof status === "number" && status >= 400)
  );
}

/** Whether a client threw because the response has no content, and another request may have some. */
export function isEmptyResponse(error: unknown): boolean {
  return PROVIDERS.some((provider) => provider.isEmptyResponse?.(Object(error)));
}

/** An error's name. The OpenAI client leaves `name` as "Error"; the name is in the class. */
function classNameOf(error: Readonly<Record<string, unknown>>): unknown {
  return error["name"] === "Error" ? error.constructor?.name : error["name"];
}

/*
 * The parts of a client's error that can be kept and shown.
 */

/** Fields with the error's kind. All other fields may hold the request, its headers or the client. */
const PLAIN_CODES = ["status", "code", "type", "param", "lc_error_code", "requestID"] as const;
const LONGEST_MESSAGE = 2000;
const LONGEST_TEXT = 500;
/** The most causes that a copy has. */
const MOST_CAUSES = 5;
/** What OpenAI's client says about a body that is not in OpenAI's form. */
const NO_BODY = "status code (no body)";
/** What {@link providerTextOf} says in its place. */
const NO_REASON = "no reason given";

/** A copy of an error and its causes: name, texts and codes without keys, and stack. */
export function toPlainError(error: unknown, redact: Redact, depth = 0): Error {
  const read = (field: string): unknown => Reflect.get(Object(error), field);
  const isObject = typeof error === "object" && error !== null;
  const message = String(isObject ? read("message") || read("code") || "" : error);
  const inner = read("cause");
  const hasCause = typeof inner === "object" && inner !== null && depth < MOST_CAUSES;
  const plain = new Error(
    shortened(redact(message), LONGEST_MESSAGE),
    hasCause ? { cause: toPlainError(inner, redact, depth + 1) } : {},
  );
  const name = classNameOf(Object(error)) ?? "Error";
  const frames = String(read("stack"))
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  Object.defineProperties(plain, {
    name: { value: String(name), configurable: true, writable: true },
    stack: { value: [`${name}: ${plain.message}`, ...frames].join("\n"), configurable: true, writable: true },
  });
  keepStatements(plain, error, redact);
  for (const field of PLAIN_CODES) {
    const value = read(field);
    if (typeof value === "number") Reflect.set(plain, field, value);
    if (typeof value === "string") Reflect.set(plain, field, redact(value));
  }
  return plain;
}

/** The provider's text, as one line. Some clients show its JSON, and some add their own words. */
export function providerTextOf(error: Error): string {
  const { text } = statementsIn(error.message).find(({ kind }) => kind === undefined) ?? {
    text: error.message,
  };
  // OpenAI's and Anthropic's clients begin with the status.
  const begin = "status" in error && text.startsWith(`${error.status} `) ? `${error.status} `.length : 0;
  const words = text.slice(begin);
  const own = words === NO_BODY ? NO_REASON : words;
  const root = rootOf(error);
  const whole = root === error || own.includes(root.message) ? own : `${own} (${root.message})`;
  return shortened(whole.replace(/\s+/g, " ").trim(), LONGEST_TEXT);
}

/** An error's first cause. It says most. */
function rootOf(error: Error): Error {
  return isError(error.cause) ? rootOf(error.cause) : error;
}

/**
 * A model's address, without credentials: these are in the part before the host, and in the query. Undefined for the
 * provider's default address, which the client keeps.
 */
export function addressOf(model: object): string | undefined {
  const endpoint = endpointOf(innermost(model));
  if (endpoint === undefined || !URL.canParse(endpoint)) return undefined;
  const { origin, pathname, protocol } = new URL(endpoint);
  return /^https?:$/.test(protocol) ? `${origin}${pathname.replace(/\/$/, "")}` : undefined;
}
