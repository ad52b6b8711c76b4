/** Decides whether a response is complete. It reads the finished message, because a call can follow a text. */

import type { AIMessage, AIMessageChunk, BaseMessageChunk } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { callsOf } from "../../history/call.js";
import { hasMoreThanText, isEmptyMessage } from "../../history/empty-message.js";
import { parseJson } from "../../shared/json.js";
import { isRecord, madeOnce } from "../../shared/values.js";
import type { FinishKind } from "../contract/provider.js";
import { isAddedChunk } from "../host-fields/client.js";
import { servedModelOf } from "../table/dialect-of.js";
import { PROVIDERS } from "../table/providers.js";

/** Why a response cannot be used. Each text follows "The model's response". */
export const BROKEN_REASONS = {
  "no-finish-reason": "ended before it was finished",
  "cut-off-arguments": "ended in the middle of a tool call's arguments",
  "cut-off-calls": "has tool calls and was cut off at its token limit",
  "cut-off-text": "was cut off at its token limit",
  "missing-calls": "announced tool calls but has none",
  empty: "is empty: it has neither text nor a tool call",
  "spent-limit": "has neither text nor a tool call, because reasoning used up its token limit",
  pending: "has not been written yet, because its provider writes it in the background",
  "leaked-markup": "has tool calls as markup in its text",
  interrupted: "was stopped by the provider in the middle",
  silent: "did not come completely: the model was silent for longer than `modelIdleTimeoutMs`",
  "sampling-failed": "failed while the model wrote it",
  "transport-error": "did not arrive completely: the connection failed",
  unreadable: "could not be read by the model's client",
} as const;

export type BrokenReason = keyof typeof BROKEN_REASONS;

/** What another request would not repair: it would cost the same, or begin one more response in the background. */
export const LASTING_REASONS: ReadonlySet<BrokenReason> = new Set(["spent-limit", "pending"]);

export interface StreamedResponse {
  /** The chunks as they arrived. A joined message can hold "nullnullstop". */
  readonly chunks: readonly ChatGenerationChunk[];
  /** Whether the model is known to omit the finish reason; see `FinishHabit`. */
  readonly omitsFinishReason: boolean;
}

/**
 * Why a response cannot be used. Undefined for a complete one.
 *
 * @param message The whole message.
 * @param streamed The stream, if the response was streamed. A response in one JSON body was parsed to its end. It needs
 * no finish reason, and the client parsed its arguments strictly.
 */
export function faultOf(
  message: AIMessage | AIMessageChunk,
  streamed?: StreamedResponse,
): BrokenReason | undefined {
  const reason = finishReasonOf(message, streamed);
  const finish = finishKindOf(reason);
  const isFinished = finish !== undefined || (streamed !== undefined && endsWithUsage(streamed.chunks));
  const hasCalls = callsOf(message).length > 0;
  const isEmpty = isEmptyMessage(message);
  if (finish === "pending" && isEmpty) return "pending";
  if (finish === "interrupted" || finish === "pending") return "interrupted";
  // The same request would be refused again, and a paused turn continues.
  if (finish === "paused" || withheldIn(message, reason) !== undefined) return undefined;
  if (hasCalls) {
    // Even if all arguments are valid: the rest of the response is unknown.
    if (finish === "limit") return "cut-off-calls";
    if (streamed !== undefined && !hasWholeArguments(message, isFinished)) return "cut-off-arguments";
  }
  if (streamed !== undefined && !isFinished && isFinishReasonDue(streamed)) return "no-finish-reason";
  if (isEmpty && finish === "limit") return "spent-limit";
  // A call in a form that nobody knows is still there.
  if (!hasCalls && finish === "calls" && !hasMoreThanText(message)) return "missing-calls";
  if (isEmpty) return "empty";
  if (hasLeakedMarkup(message.text)) return "leaked-markup";
  return undefined;
}

/** The same for a text that must be complete, such as a summary. It comes in one piece. */
export function faultOfText(message: AIMessage | AIMessageChunk): BrokenReason | undefined {
  const fault = faultOf(message);
  const isCut = finishKindOf(finishReasonOf(message)) === "limit" && fault !== "spent-limit";
  return isCut ? "cut-off-text" : fault;
}

/** A response that the model refused to give, or whose rest its provider's filter took. */
export interface Withheld {
  /** The finish reason, or `refusal`. */
  readonly reason: string;
  /** What the refusal is about, such as `cyber`, if the provider says so. */
  readonly category: string | undefined;
  /** The refusal's words, if they are not in the response's text. */
  readonly text: string;
}

/**
 * Undefined for a response that was not withheld. Its finish reason or its own field says so. Filters have new names
 * each year, so a response that has nothing but an unknown finish reason was withheld too.
 */
export function withheldIn(
  message: AIMessage | AIMessageChunk,
  finish: string | undefined,
): Withheld | undefined {
  const [refusal] = REFUSAL_READERS.flatMap((read) => read(message) ?? []);
  const isFiltered =
    finishKindOf(finish) === "withheld" ||
    (finish !== undefined && !KINDS.has(finish.toLowerCase()) && isEmptyMessage(message));
  if (refusal === undefined && !isFiltered) return undefined;
  return {
    reason: (isFiltered ? finish : undefined) ?? "refusal",
    category: refusal?.category,
    text: refusal?.text ?? "",
  };
}

/** The last finish reason of the stream, or the finish reason of the message. */
export function finishReasonOf(
  message: AIMessage | AIMessageChunk,
  streamed?: StreamedResponse,
): string | undefined {
  if (streamed === undefined) return readFinishReason(message.response_metadata, message.additional_kwargs);
  for (const { generationInfo, message: chunk } of streamed.chunks.toReversed()) {
    const found = readFinishReason(generationInfo, chunk.response_metadata, chunk.additional_kwargs);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Whether a complete response would have a finish reason. Not every model gives one: LangChain's fakes, scripted models
 * and some compatible servers do not. Real providers' clients name the provider or the model on every chunk. Without
 * such a name, a missing finish reason means nothing. With it, the stream was cut, unless the same model has given a
 * complete response without a reason.
 */
function isFinishReasonDue({ chunks, omitsFinishReason }: StreamedResponse): boolean {
  if (omitsFinishReason) return false;
  return chunks.some(({ message: { response_metadata: metadata } }) =>
    ["model_provider", "model_name", "model"].some((field) => typeof metadata?.[field] === "string"),
  );
}

/**
 * Whether the usage shows the stream's end, because it came after all content. Hosts that count from the beginning on,
 * as Anthropic and Gemini do, send it before the content or with each piece of it.
 */
function endsWithUsage(chunks: StreamedResponse["chunks"]): boolean {
  const first = chunks.findIndex(({ message }) => hasUsage(message));
  const last = chunks.findLastIndex(({ message }) => hasContent(message) && !isAddedChunk(message));
  return first > last;
}

/** OpenAI's client repeats the last usage at the end. Each chunk's metadata has the usage that came with it. */
function hasUsage(message: BaseMessageChunk): boolean {
  return [Reflect.get(message, "usage_metadata"), message.response_metadata?.["usage"]].some(
    (usage) =>
      isRecord(usage) && Object.values(usage).some((count) => typeof count === "number" && count > 0),
  );
}

function hasContent(message: BaseMessageChunk): boolean {
  const pieces: unknown = Reflect.get(message, "tool_call_chunks");
  if (message.content.length > 0 || (Array.isArray(pieces) && pieces.length > 0)) return true;
  return Object.values(message.additional_kwargs).some((field) => field != null && field !== "");
}

/**
 * Whether every call's arguments are complete JSON. Clients parse a stream's arguments leniently, so `{"amount": 10`
 * would become a valid call. Arguments that even this parser rejects are the model's own mistake. They make an invalid
 * call, which never runs and which the model hears about. Empty arguments are valid for a call without arguments, if
 * the message is known to be finished.
 */
function hasWholeArguments(message: AIMessage | AIMessageChunk, isFinished: boolean): boolean {
  const raw = "tool_call_chunks" in message ? (message.tool_call_chunks ?? []) : [];
  const refused = new Set(message.invalid_tool_calls?.map(({ args }) => args));
  return raw.every((call) => {
    // A custom tool's input is a text. Only the response's end shows that it is whole.
    if (Reflect.get(call, "isCustomTool") === true) return isFinished;
    // Some hosts send null.
    const args = call.args ?? "";
    return args.trim() === "" ? isFinished : parseJson(args) !== undefined || refused.has(args);
  });
}

/*
 * Tool calls that a provider failed to parse, and that appear in the text as the model's own markup. They never become
 * tool calls, so the turn would end as if the work were done.
 */

const OPENINGS = PROVIDERS.flatMap(({ callMarkup = [] }) => callMarkup);

/** Whether a text contains the beginning of a tool call. Markup quoted as code is intended and does not count. */
export function hasLeakedMarkup(text: string): boolean {
  // All openings have it, and most texts do not.
  if (!text.includes("<")) return false;
  const places = OPENINGS.flatMap((opening) => [...text.matchAll(opening)].map(({ index }) => index));
  let isFenced = false;
  let ticksOfLine = 0;
  let at = 0;
  for (const place of places.sort((one, other) => one - other)) {
    while (at < place) {
      const isFence = text.startsWith("```", at);
      if (isFence) isFenced = !isFenced;
      if (text[at] === "\n") ticksOfLine = 0;
      if (text[at] === "`") ticksOfLine += isFence ? 3 : 1;
      at += isFence ? 3 : 1;
    }
    if (!isFenced && ticksOfLine % 2 === 0) return true;
  }
  return false;
}

/**
 * Whether a model gives finish reasons. Some compatible servers never do. A complete response without one shows that
 * the model omits them. Only a response in one piece is known to be complete; a stream without a reason may have been
 * cut. A single finish reason at any time shows the opposite.
 */
export class FinishHabit {
  #habit: "unknown" | "gives" | "omits" = "unknown";

  get omits(): boolean {
    return this.#habit === "omits";
  }

  /** @param isWhole Whether the response came in one piece. */
  note(finishReason: string | undefined, isWhole: boolean): void {
    if (finishReason !== undefined) this.#habit = "gives";
    else if (isWhole && this.#habit === "unknown") this.#habit = "omits";
  }
}

const HABITS = new WeakMap<object, FinishHabit>();
const HABITS_AT = new Map<string, FinishHabit>();
/** A server can have any number of models. The habits that were learned first are forgotten. */
const MOST_HABITS = 1000;

/**
 * A model's habit. It belongs to the host and the model's name, because a server can make a model for each run. A model
 * whose host is unknown has its own.
 */
export function finishHabitOf(model: object): FinishHabit {
  const place = servedModelOf(model);
  if (place === undefined) return madeOnce(HABITS, model, () => new FinishHabit());
  const habit = madeOnce(HABITS_AT, place, () => new FinishHabit());
  const [oldest] = HABITS_AT.keys();
  if (oldest !== undefined && HABITS_AT.size > MOST_HABITS) HABITS_AT.delete(oldest);
  return habit;
}

/*
 * Sorts all providers' finish reasons into the few kinds that matter here.
 */

const KINDS: ReadonlyMap<string, FinishKind> = new Map(
  PROVIDERS.flatMap(({ finishReasons = {} }) =>
    Object.entries(finishReasons).flatMap(([kind, words]) =>
      words.map((word): [string, FinishKind] => [word, kind as FinishKind]),
    ),
  ),
);

const FIELDS = PROVIDERS.flatMap(({ finishFields = [] }) => finishFields);
const REFUSAL_READERS = PROVIDERS.flatMap(({ refusalIn }) => refusalIn ?? []);
const FINISH_READERS = PROVIDERS.flatMap(({ finishIn }) => finishIn ?? []);

/** An unknown reason counts as `done`, so that a new word does not turn good responses into broken ones. */
export function finishKindOf(reason: string | undefined): FinishKind | undefined {
  return reason === undefined ? undefined : (KINDS.get(reason.toLowerCase()) ?? "done");
}

/**
 * The first finish reason in these records: a generation's info, and a message's `response_metadata` and
 * `additional_kwargs` (where Anthropic's client puts it in a stream).
 */
function readFinishReason(...records: readonly unknown[]): string | undefined {
  for (const record of records) {
    if (!isRecord(record)) continue;
    const reason =
      FIELDS.map((field) => record[field]).find(isReason) ??
      FINISH_READERS.map((read) => read(record)).find(isReason);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Some hosts write `"null"` until the end. */
function isReason(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value !== "null";
}
