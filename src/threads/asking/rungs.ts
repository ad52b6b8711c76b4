/**
 * Asks a model with an input that it accepts. If the model refuses the input's content, it is asked again with the
 * smallest change, rung by rung.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isIdTaken } from "../../history/reducer/taken-ids.js";
import { isUserMessage } from "../../history/summary.js";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import { apiOf, learnApi } from "../../providers/contract/openai-api.js";
import type { ModelIdentity } from "../../providers/contract/provider.js";
import { describeFailure, isModelError, modelErrorIn } from "../../providers/failure/model-failure.js";
import {
  LEAST_WINDOW,
  learnWindow,
  lowerBound,
  MOST_OVERFLOWS,
  type Overflow,
  requestLimitOf,
} from "../../providers/failure/overflow.js";
import { type RefusedContent, readRefusedContent } from "../../providers/failure/refused-content.js";
import type { FittedInput } from "../../providers/input/bounds.js";
import type { Reduction } from "../../providers/input/reduction.js";
import { callsClosedNow } from "../../providers/input/server-calls.js";
import { mediaOf, type ShownMedia } from "../../providers/media/media-limits.js";
import type { StreamGuardOptions } from "../../providers/response/ask-client.js";
import { identityOf, innermost } from "../../providers/table/dialect-of.js";
import { dialectNamed } from "../../providers/table/dialects.js";
import { hashText, toJson } from "../../shared/json.js";
import { least } from "../../shared/values.js";
import { noteShown } from "../ended-runs/shown-text.js";
import { emitEvent, type OnRepair, type Rung, tellClosedCall } from "../events.js";
import type { UsageCounter } from "../usage.js";
import { askedWith, hasAccepted, longestAccepted, noteAccepted, type RequestOptions } from "./acceptance.js";
import { type Doubt, helpAgainst, helpFor, helpOf, rungsIn, withHelp } from "./help.js";

export interface InputForm extends ModelIdentity {
  /** The tokens of the tools' schemas, by our estimate. */
  readonly toolTokens: number;
  /** How many tokens the request may have, as the provider counts them. Undefined: any number. */
  readonly maxTokens: number | undefined;
  /** How many it may have because a longer one was refused in this thread. Undefined: none was. */
  readonly window: number | undefined;
  /** What else is changed, because the provider refused more in this thread. Undefined: nothing. */
  readonly reduction: Reduction | undefined;
  /** What of it may have helped by chance. Undefined: nothing. */
  readonly doubt: Doubt | undefined;
}

interface FormRequest {
  readonly model: object;
  /** The messages of the thread. */
  readonly history: readonly BaseMessage[];
  /** The tokens of the tools' schemas, which are part of the request. */
  readonly toolTokens: number;
  /** How many tokens the request may have, whatever the model's window is. */
  readonly maxTokens?: number | undefined;
  /** The dialect that the user names. Undefined: the model's own. */
  readonly dialect?: DialectName | undefined;
}

interface RungRequest<Answer> extends FormRequest {
  readonly options: RequestOptions;
  readonly further: FurtherRequests;
  /** Contract: makes the input in this form, each time from the same messages. */
  readonly prepare: (form: InputForm) => FittedInput;
  readonly send: (messages: BaseMessage[], mark: MarkResponse, input: FittedInput) => Promise<Answer>;
}

/** Contract: returns the response with a mark of what its input lacks. Call it with the response that is stored. */
export type MarkResponse = (response: AIMessage) => AIMessage;

/** The form of a model's next input, with what has helped in this thread. */
export function formFor({ model, history, toolTokens, maxTokens, dialect: given }: FormRequest): InputForm {
  const identity = identityOf(model);
  const known = helpFor(history, identity);
  const window = known?.window;
  return {
    ...identity,
    dialect: known?.isStrict ? "strict" : (given ?? identity.dialect),
    toolTokens,
    maxTokens: least(requestLimitOf(model), window, maxTokens),
    window,
    reduction: known?.reduction,
    doubt: known?.doubt,
  };
}

/** The most requests that a turn may have because its model refused others. */
const MOST_FURTHER_REQUESTS = MOST_OVERFLOWS;

/** How many of them a turn has had. All models and repeated requests within one step share this count. */
export interface FurtherRequests {
  made: number;
}

/** The count of the earlier steps. A turn begins with a user message, as in its limits. */
export function furtherRequestsOf(history: readonly BaseMessage[]): FurtherRequests {
  const turn = history.slice(history.findLastIndex(isUserMessage) + 1);
  return { made: Math.max(0, ...turn.map((message) => helpOf(message)?.made ?? 0)) };
}

/** For requests that are sent in the forms known to help, or not at all. */
export const NO_FURTHER_REQUESTS: Readonly<FurtherRequests> = { made: MOST_FURTHER_REQUESTS };

/**
 * Sends an input that the model accepts. If the model refuses its content, another form follows, at most three times in
 * a turn: without what the refusal names, then in the strict dialect with pictures and files described, then with one
 * text in place of everything before the current turn. A turn's last request takes the form that helps in most cases.
 * The history does not change. The response carries a mark of what helped, so later requests begin with it.
 *
 * Words that nobody knows are about the content only if the model has accepted the same parameters before. What helps
 * then may help by chance, so the next turn tries the usual form again.
 *
 * @throws The error of the first request if no form helps.
 */
export async function askByRungs<Answer>(
  request: RungRequest<Answer>,
  config: LangGraphRunnableConfig,
): Promise<Answer> {
  const { model, prepare, send, further } = request;
  let form = formFor(request);
  let input = prepare(form);
  reportChanges(input, form, undefined, config);
  const sent: (readonly BaseMessage[])[] = [];
  let first: { readonly error: unknown } | undefined;
  let doubt = form.doubt;
  const overflows: Overflows = { latest: undefined, size: Number.POSITIVE_INFINITY };
  /** Takes back what no accepted request has shown. */
  let forgetApi: (() => void) | undefined;
  try {
    for (;;) {
      sent.push(input.messages);
      const known = apiOf(innermost(model));
      try {
        const mark = markOf(input, form, request);
        // What the caller makes of a response does not change that its request was accepted.
        const noted: MarkResponse = (response) => {
          forgetApi = undefined;
          return mark(response);
        };
        const response = await send(input.messages as BaseMessage[], noted, input);
        forgetApi = undefined;
        if (overflows.latest !== undefined) learnWindow(model, overflows.latest, overflows.size);
        return response;
      } catch (error) {
        // Only model errors count. A middleware can throw anything.
        const failure = modelErrorIn(error);
        if (config.signal?.aborted === true || failure === undefined) throw error;
        first ??= { error };
        if (further.made >= MOST_FURTHER_REQUESTS) throw first.error;
        const refused = readRefusedContent(failure, input.messages, form.dialect);
        if (refused === undefined || !isOfContent(refused, request)) throw first.error;
        if (refused.kind === "other-api") {
          forgetApi = learnApi(innermost(model), refused.api, known);
          if (forgetApi === undefined) throw first.error;
          further.made += 1;
          form = formFor(request);
          input = prepare(form);
          emitEvent(config, { type: "api-switched", api: refused.api, reason: refused.text });
          continue;
        }
        const next = nextAttempt(rungsFor(refused, form, input, overflows, request), prepare, (messages) =>
          sent.every((before) => !isSameInput(before, messages)),
        );
        if (next === undefined) throw first.error;
        further.made += 1;
        // A number of bytes says nothing of tokens, so what helps is for this turn.
        const isOfBytes = refused.kind === "too-long" && refused.overflow.isOfBytes;
        if (refused.kind === "unknown" || (isOfBytes && next.rung === "shortened"))
          doubt ??= { words: wordsOf(refused), usual: usualForm(form) };
        ({ input } = next);
        form = { ...next.form, doubt: next.isProven ? undefined : doubt };
        reportRung(next, refused, config);
      }
    }
  } finally {
    forgetApi?.();
  }
}

/** Whether there is evidence that the content was the reason. */
function isOfContent(refused: RefusedContent, { model, options, history }: RungRequest<unknown>): boolean {
  if (refused.kind !== "unknown" || refused.isOfMessages) return true;
  return hasAccepted(askedWith(model, options), history, identityOf(model));
}

/** The refusal's words without those that differ each time, such as the id of the request. */
function wordsOf({ text }: RefusedContent): string {
  const words = text.split(/\s+/).filter((word) => !/\d/.test(word));
  return hashText(words.join(" ").toLowerCase(), 16);
}

function usualForm({ dialect, reduction, window }: InputForm): Doubt["usual"] {
  return { isStrict: dialect === "strict", reduction, window };
}

/** The last request that was too long. */
interface Overflows {
  latest: Overflow | undefined;
  /** Its tokens, as we counted them. */
  size: number;
}

interface Attempt {
  readonly rung: Rung;
  readonly form: InputForm;
  readonly messageIds: readonly string[];
  /** Whether it has helped before after the same words. */
  readonly isProven?: true;
}

interface MadeAttempt extends Attempt {
  readonly input: FittedInput;
}

/** The first attempt whose input was not refused yet. */
function nextAttempt(
  attempts: Iterable<Attempt>,
  prepare: RungRequest<unknown>["prepare"],
  isNew: (messages: readonly BaseMessage[]) => boolean,
): MadeAttempt | undefined {
  for (const attempt of attempts) {
    const input = prepareOr(attempt.form, prepare);
    if (input !== undefined && isNew(input.messages)) return { ...attempt, input };
  }
  return undefined;
}

/** A summary must see all messages: otherwise its `prepare` throws. */
function prepareOr(form: InputForm, prepare: RungRequest<unknown>["prepare"]): FittedInput | undefined {
  try {
    return prepare(form);
  } catch (error) {
    if (isModelError(error)) return undefined;
    throw error;
  }
}

/** The forms that may help, the least change first. */
function* rungsFor(
  refused: RefusedContent,
  form: InputForm,
  input: FittedInput,
  overflows: Overflows,
  request: RungRequest<unknown>,
): Generator<Attempt> {
  const { model, history, further } = request;
  const isLast = further.made === MOST_FURTHER_REQUESTS - 1;
  const start = history.findLastIndex(isUserMessage);
  const media = mediaOf(input.messages);
  const describing = (shown: readonly ShownMedia[], rung: Rung, changed: InputForm = form): Attempt => {
    const chosen = new Set(shown.map(({ fingerprint }) => fingerprint));
    const described = [...new Set([...(changed.reduction?.described ?? []), ...chosen])];
    const ids = media
      .filter((one) => chosen.has(one.shown.fingerprint))
      .flatMap(({ message }) => message.id ?? []);
    return { rung, form: reduced(changed, { described }), messageIds: [...new Set(ids)] };
  };
  const all = media.map(({ shown }) => shown);
  /** Also describes what tools return later in this turn, if no further request is left for it. */
  const describingAll = (rung: Rung, changed?: InputForm): Attempt => {
    const attempt = describing(all, rung, changed);
    const describesTurn = isLast ? history[start]?.id : undefined;
    return { ...attempt, form: reduced(attempt.form, { ...(describesTurn && { describesTurn }) }) };
  };
  if (refused.kind === "too-long") {
    const { limit, sent, isOfBytes } = refused.overflow;
    const earlier = media.filter(({ index }) => index < input.messages.findLastIndex(isUserMessage));
    if (isOfBytes && earlier.length > 0 && earlier.length < all.length && !isLast)
      yield describing(
        earlier.map(({ shown }) => shown),
        "described",
      );
    if (isOfBytes && all.length > 0) yield describingAll("described");
    const isAgain = overflows.latest !== undefined;
    const shorter = shorterForm(refused, form, input, overflows, request);
    // The data of pictures can be too long, and no count of tokens shows it.
    if (isAgain && (limit ?? sent) === undefined && all.length > 0) yield describingAll("described", shorter);
    if (shorter !== undefined) yield { rung: "shortened", form: shorter, messageIds: [] };
    if (all.length > 0) yield describingAll("described");
    return;
  }
  if (refused.kind === "too-many") {
    const most = { ...form.reduction?.most, [refused.counted]: refused.most };
    yield { rung: "counted", form: reduced(form, { most }), messageIds: [] };
  }
  if (refused.kind === "media" && all.length > 0) {
    const fingerprints = new Set(refused.named.map(({ fingerprint }) => fingerprint));
    const carriers = new Set(
      media.filter((one) => fingerprints.has(one.shown.fingerprint)).map(({ message }) => message),
    );
    if (refused.named.length > 0 && !isLast) yield describing(refused.named, "described");
    if (carriers.size > 0 && !isLast)
      yield describing(
        media.filter(({ message }) => carriers.has(message)).map(({ shown }) => shown),
        "described",
      );
    yield describingAll("described");
  }
  const strict: InputForm = { ...form, dialect: "strict" };
  const earlierIds = history.slice(0, Math.max(start, 0)).flatMap(({ id }) => id ?? []);
  if (refused.kind === "unknown") {
    const proven = helpAgainst(wordsOf(refused), history, identityOf(model));
    const rung = rungsIn(proven && { ...proven, bound: undefined }).at(-1) ?? "shortened";
    const messageIds = rung === "retold" ? earlierIds : [];
    if (proven !== undefined) yield { rung, form: inForm(form, proven), messageIds, isProven: true };
    const shorter = isLast ? undefined : muchShorterForm(form, input, request);
    if (shorter !== undefined) yield { rung: "shortened", form: shorter, messageIds: [] };
  }
  if (!isLast) {
    if (refused.kind === "rule") yield { rung: "strict", form: strict, messageIds: [] };
    if (all.length > 0 || refused.kind === "media") yield describing(all, "strict", strict);
  }
  const last = describingAll("retold", strict);
  yield { rung: "retold", form: reduced(last.form, { isRetold: true }), messageIds: earlierIds };
}

function inForm(form: InputForm, { isStrict, reduction, window }: Doubt["usual"]): InputForm {
  return {
    ...form,
    dialect: isStrict ? "strict" : form.dialect,
    reduction,
    window,
    maxTokens: least(form.maxTokens, window),
  };
}

/** A request this many times longer than any that was accepted may be too long. */
const MUCH_LONGER = 2;
/** What is left of it. */
const SHARE_OF_MUCH_LONGER = 0.3;

/** Undefined for a request that is not much longer than what the model has accepted. */
function muchShorterForm(
  form: InputForm,
  { length: { tokens } }: FittedInput,
  { model, options, history, maxTokens = Number.POSITIVE_INFINITY }: RungRequest<unknown>,
): InputForm | undefined {
  if (tokens <= LEAST_WINDOW) return undefined;
  const longest = longestAccepted(askedWith(model, options), history, identityOf(model));
  if (longest === 0 || tokens <= longest * MUCH_LONGER) return undefined;
  const window = Math.floor(Math.max(longest, LEAST_WINDOW, tokens * SHARE_OF_MUCH_LONGER));
  return { ...form, window, maxTokens: Math.min(window, maxTokens) };
}

function reduced(form: InputForm, reduction: Reduction): InputForm {
  const { described, ...others } = { ...form.reduction, ...reduction };
  const all = { ...others, ...(described !== undefined && described.length > 0 && { described }) };
  return { ...form, reduction: Object.keys(all).length === 0 ? undefined : all };
}

/** Undefined if an input was too long and the next one was not shorter. */
function shorterForm(
  { overflow }: Extract<RefusedContent, { kind: "too-long" }>,
  form: InputForm,
  { length }: FittedInput,
  overflows: Overflows,
  { further, maxTokens = Number.POSITIVE_INFINITY }: RungRequest<unknown>,
): InputForm | undefined {
  if (length.tokens >= overflows.size) return undefined;
  Object.assign(overflows, { latest: overflow, size: length.tokens });
  const window = Math.max(lowerBound(overflow, length.tokens, further.made), 1);
  const { limit, sent } = overflow;
  const isWindow = (limit ?? sent) !== undefined || length.tokens >= LEAST_TOO_LONG;
  return { ...form, ...(isWindow && { window }), maxTokens: Math.min(window, maxTokens) };
}

/** A shorter request is not too long, whatever its refusal says without numbers. */
const LEAST_TOO_LONG = 1_000;

/** Whether two requests say the same. Message ids are not sent. */
function isSameInput(one: readonly BaseMessage[], other: readonly BaseMessage[]): boolean {
  const isSame = (message: BaseMessage, index: number): boolean => {
    const against = other[index];
    return against !== undefined && (message === against || saidBy(message) === saidBy(against));
  };
  return one.length === other.length && one.every(isSame);
}

function saidBy(message: BaseMessage): string | undefined {
  const { type, content, additional_kwargs } = message;
  const calls = "tool_calls" in message ? message.tool_calls : undefined;
  const answered = "tool_call_id" in message ? message.tool_call_id : undefined;
  return toJson([type, content, calls, answered, additional_kwargs]);
}

/** Marks a response with what its input lacks, and remembers that the request was accepted. */
function markOf(
  { changes, length }: FittedInput,
  { dialect, reduction, maxTokens, window, toolTokens, doubt }: InputForm,
  { model, dialect: given, options, further }: RungRequest<unknown>,
): MarkResponse {
  const isStrict = dialect === "strict" && given !== "strict";
  const bound = changes.length === 0 ? undefined : { maxTokens, toolTokens };
  return (response) => {
    noteAccepted(askedWith(model, options), length.tokens, response);
    const { made } = further;
    return withHelp(response, identityOf(model), { isStrict, reduction, bound, window, made, doubt });
  };
}

/*
 * Tells clients what a request lacks.
 */

/** Tells what the model does not get, because its provider accepts none or the request would be too long. */
export function reportChanges(
  { changes, describedIn }: FittedInput,
  { maxTokens }: InputForm,
  reason: string | undefined,
  config: LangGraphRunnableConfig,
): void {
  if (describedIn.length > 0 && reason === undefined)
    emitEvent(config, { ...REDUCED, rung: "described", reason, messageIds: describedIn });
  if (changes.length === 0) return;
  const idsOf = (kind: "shortened" | "left-out"): string[] =>
    changes.flatMap((change) => (change.kind === kind ? (change.id ?? []) : []));
  const [messageIds, leftOut] = [idsOf("shortened"), idsOf("left-out")];
  emitEvent(config, { ...REDUCED, rung: "shortened", reason, messageIds, leftOut, maxTokens });
}

const REDUCED = { type: "input-reduced", leftOut: [], maxTokens: undefined } as const;

function reportRung(
  { rung, messageIds, input, form }: MadeAttempt,
  { text }: RefusedContent,
  config: LangGraphRunnableConfig,
): void {
  reportChanges(input, form, text, config);
  if (rung !== "shortened") emitEvent(config, { ...REDUCED, rung, reason: text, messageIds });
}

/**
 * Tells which calls this request says were not run: those that OpenAI's client does not list, so that no node closes
 * them.
 */
export function tellClosedCalls(
  history: readonly BaseMessage[],
  {
    model,
    dialect: given,
    onRepair,
  }: Pick<FormRequest, "model" | "dialect"> & { readonly onRepair?: OnRepair | undefined },
  config: LangGraphRunnableConfig,
): void {
  const { dialect, modelId } = identityOf(model);
  const target = { dialect: dialectNamed(given ?? dialect), modelId };
  for (const closed of callsClosedNow(history, target)) tellClosedCall(closed, config, onRepair);
}

interface ResponseToGuard {
  readonly model: object;
  readonly maxFallbackAttempts: number;
  readonly idleTimeoutMs: number;
  /** The thread's messages. A response must not get the id of one of them. */
  readonly thread: readonly BaseMessage[];
  /** The ids of the messages that clients saw in this model call. */
  readonly shown: Set<string>;
  /** Whether the text that they saw stays in the thread if the run is aborted. */
  readonly keepsShown: boolean;
  /** Counts what nobody gets. */
  readonly usage?: UsageCounter;
}

type ResponseGuard = StreamGuardOptions & Required<Pick<StreamGuardOptions, "onWithheld">>;

/** Guards a response that becomes part of the thread. Events report broken responses and failed requests. */
export function responseGuard(
  { model, maxFallbackAttempts, idleTimeoutMs, thread, shown, keepsShown, usage }: ResponseToGuard,
  config: LangGraphRunnableConfig,
): ResponseGuard {
  return {
    maxFallbackAttempts,
    idleTimeoutMs,
    isTaken: (id) => shown.has(id) || isIdTaken(thread, id),
    onShown: (message, isHeard) => {
      if (message.id !== undefined) shown.add(message.id);
      if (isHeard && keepsShown) noteShown(message, config);
    },
    onBroken: (broken) => {
      usage?.addBroken(broken.usage);
      emitEvent(config, { type: "response-broken", reason: broken.reason });
    },
    onWithheld: ({ reason, category, isKept, ...withheld }) => {
      if (!isKept) usage?.addUnused(withheld.usage);
      emitEvent(config, { type: "response-withheld", reason, category });
    },
    onUnused: (unused) => usage?.addUnused(unused),
    onRetry: ({ error, ...attempts }) =>
      emitEvent(config, { type: "model-retry", ...attempts, reason: describeFailure(error, model) }),
  };
}
