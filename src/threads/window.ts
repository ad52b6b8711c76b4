/** Asks a model within its input window, and again if it refuses its input for a reason that another form mends. */

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { ModelError } from "../errors.js";
import { MARKS, withMarks } from "../history/marks.js";
import type { StreamGuardOptions } from "../providers/answer/guard-model.js";
import { finishHabitOf } from "../providers/answer/verdict.js";
import { identityOf, innermost } from "../providers/dialect-of.js";
import type { DialectName } from "../providers/dialects.js";
import {
  describeFailure,
  isLost,
  isModelError,
  NO_REASON,
  providerTextOf,
} from "../providers/failure/model-failure.js";
import {
  boundOf,
  learnWindow,
  lowerBound,
  MOST_OVERFLOWS,
  readOverflow,
  windowOf,
} from "../providers/failure/overflow.js";
import { concernsMessages, namesKnownRule } from "../providers/failure/refusal.js";
import type { FittedInput } from "../providers/input/bounds.js";
import type { ModelIdentity } from "../providers/provider.js";
import type { RuleName } from "../providers/rule.js";
import { validateHistory } from "../providers/validate-history.js";
import { isError } from "../shared/is-error.js";
import { emitEvent } from "./events.js";

/** What an input must fit. */
export interface InputForm extends ModelIdentity {
  /** The tokens of the tools' schemas, by our estimate. */
  readonly toolTokens: number;
  /** How many tokens the request may have, as the provider counts them. Undefined: any number. */
  readonly maxTokens: number | undefined;
}

interface WindowRequest<Answer> {
  readonly model: object;
  /** The tokens of the tools' schemas, which are part of the request. */
  readonly toolTokens: number;
  /** How many tokens the request may have, whatever the window of the model is. */
  readonly maxTokens?: number | undefined;
  /** The dialect that the user names. Undefined: that of the model. */
  readonly dialect?: DialectName | undefined;
  /** Contract: makes the input in this form, each time from the same messages. */
  readonly prepare: (form: InputForm) => FittedInput;
  readonly send: (messages: BaseMessage[], input: FittedInput) => Promise<Answer>;
}

/** Models that have accepted the strict dialect in this process. */
const strictModels = new WeakSet<object>();

/** The form of a model's next input. @param given The dialect that the user names. */
export function formFor(model: object, toolTokens: number, given?: DialectName): InputForm {
  const { dialect, modelId } = identityOf(model);
  const isStrict = strictModels.has(innermost(model));
  const maxTokens = boundOf(model);
  return { dialect: isStrict ? "strict" : (given ?? dialect), modelId, toolTokens, maxTokens };
}

/**
 * Sends an input that fits into the model's window. If the model refuses it as too long, a shorter one is sent, at
 * most three times. If the model refuses it by a rule that our check did not find broken, it is sent once in the
 * strict dialect. What helped is remembered for the model in this process.
 *
 * @throws The error of the last request.
 */
export async function askWithinWindow<Answer>(
  request: WindowRequest<Answer>,
  config: LangGraphRunnableConfig,
): Promise<Answer> {
  const { model, toolTokens, prepare, send } = request;
  const within = (form: InputForm): InputForm => {
    const bounds = [form.maxTokens, request.maxTokens].filter((bound) => bound !== undefined);
    return { ...form, maxTokens: bounds.length === 0 ? undefined : Math.min(...bounds) };
  };
  let form = within(formFor(model, toolTokens, request.dialect));
  let window = windowOf(model);
  let refused: { readonly size: number; readonly error: unknown } | undefined;
  for (let overflows = 0; ; ) {
    const input = prepare(form);
    const size = input.length.tokens;
    if (refused !== undefined && size >= refused.size) throw refused.error;
    reportChanges(input, form, overflows > 0 ? "overflow" : "window", config);
    try {
      const answer = await send(input.messages as BaseMessage[], input);
      if (overflows > 0 && window !== undefined) learnWindow(model, window);
      if (form.dialect === "strict") strictModels.add(innermost(model));
      return answer;
    } catch (error) {
      if (config.signal?.aborted === true) throw error;
      // Only errors of models count. A chat middleware can throw anything.
      const overflow = isModelError(error) ? readOverflow(error) : undefined;
      if (overflow !== undefined) {
        if (overflows === MOST_OVERFLOWS) throw error;
        window = lowerBound(overflow, size, overflows);
        form = within({ ...form, maxTokens: Math.max(window, 1) });
        overflows += 1;
        refused = { size, error };
        continue;
      }
      if (!isRefusedBySurprise(error, input.messages, form.dialect)) throw error;
      emitEvent(config, { type: "dialect-changed", from: form.dialect, to: "strict", reason: error.message });
      form = { ...form, dialect: "strict" };
      refused = undefined;
    }
  }
}

function isRefusedBySurprise(
  error: unknown,
  messages: readonly BaseMessage[],
  dialect: DialectName,
): error is ModelError {
  return (
    dialect !== "strict" &&
    isModelError(error) &&
    isError(error.cause) &&
    (isThrownByClient(error.cause, error.status, dialect)
      ? validateHistory(messages, "strict").some(({ rule }) => OF_CONTENT.has(rule))
      : concernsMessages(error.status) && namesRule(providerTextOf(error.cause), messages, dialect)) &&
    validateHistory(messages, dialect).length === 0
  );
}

const OF_CONTENT: ReadonlySet<RuleName> = new Set<RuleName>(["content-form", "foreign-block"]);

/** An unknown client may throw for blocks that it cannot send. Such an error has no status. */
function isThrownByClient(cause: Error, status: number | undefined, dialect: DialectName): boolean {
  return dialect === "as-stored" && status === undefined && !isLost(cause);
}

/** OpenAI's client drops the words of a host that writes its errors in another form, as older versions of vLLM do. */
function namesRule(text: string, messages: readonly BaseMessage[], dialect: DialectName): boolean {
  if (dialect === "openai-compatible" && text === NO_REASON)
    return validateHistory(messages, "strict").length > 0;
  return namesKnownRule(text);
}

/** Tells clients what the model does not get: the request would be too long, or its provider does not take it. */
export function reportChanges(
  { changes, described }: FittedInput,
  { maxTokens = 0 }: InputForm,
  reason: "window" | "overflow",
  config: LangGraphRunnableConfig,
): void {
  if (described.length > 0 && reason === "window")
    emitEvent(config, { type: "media-described", messageIds: described });
  if (changes.length === 0) return;
  const idsOf = (kind: "shortened" | "left-out"): string[] =>
    changes.flatMap((change) => (change.kind === kind ? (change.id ?? []) : []));
  emitEvent(config, {
    type: "input-shortened",
    reason,
    maxTokens,
    shortened: idsOf("shortened"),
    leftOut: idsOf("left-out"),
  });
}

/** The response, with a mark if its input was shortened: what its provider has counted is not the length of the history. */
export function markIfShortened<Message extends BaseMessage>(
  response: Message,
  { changes }: FittedInput,
): Message {
  return changes.length === 0 ? response : withMarks(response, { [MARKS.shortened]: true });
}

interface AnswerToGuard {
  readonly model: object;
  readonly maxFallbackAttempts: number;
  readonly idleTimeoutMs: number;
  /** Whether the thread has a message with this id. */
  readonly isInThread: (id: string) => boolean;
  /** The ids of the messages that clients were shown in this model call. */
  readonly shown: Set<string>;
}

/** The guard of a response that becomes part of the thread. Events tell of broken responses and failed requests. */
export function answerGuard(
  { model, maxFallbackAttempts, idleTimeoutMs, isInThread, shown }: AnswerToGuard,
  config: LangGraphRunnableConfig,
): StreamGuardOptions {
  return {
    maxFallbackAttempts,
    idleTimeoutMs,
    habit: finishHabitOf(model),
    isTaken: (id) => shown.has(id) || isInThread(id),
    onShown: (id) => shown.add(id),
    onBroken: ({ reason }) => emitEvent(config, { type: "answer-broken", reason }),
    onRetry: ({ error, ...attempts }) =>
      emitEvent(config, { type: "model-retry", ...attempts, reason: describeFailure(error, model) }),
  };
}
