/** Makes the messages of a request from a history. */

import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../../errors.js";
import { checkToolCallsToKeep, filterToolCalls, type ToolCallsToKeep } from "../../history/cut.js";
import { type InputLength, measureInput } from "../../history/measure.js";
import { type Survey, surveyOf } from "../../history/open-calls.js";
import { assertList, isMessageList, readMessages } from "../../history/read-messages.js";
import { repairHistory } from "../../history/reducer/repair-history.js";
import { coverageOf } from "../../history/summary.js";
import { countTextTokens } from "../../history/text-tokens.js";
import { flattenVisible, visibleHistory } from "../../history/visible-history.js";
import { didYouMean } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { type Asked, compactedAt, readingOf, type Target } from "../contract/author.js";
import type { DialectName } from "../contract/dialect-name.js";
import { isChatModel } from "../contract/model-view.js";
import type { ModelIdentity } from "../contract/provider.js";
import { misplacedSystem, plainRoles, systemInFront } from "../rules/order.js";
import { identityOf, innermost } from "../table/dialect-of.js";
import { dialectNamed, targetOf } from "../table/dialects.js";
import { type Bound, type FittedInput, fitInput } from "./bounds.js";
import type { Conversation } from "./projection.js";
import { mostMessagesOf, type Reduction, reduceConversation } from "./reduction.js";
import { settleServerCalls } from "./server-calls.js";

/** The options of `toModelInput`. */
export interface ModelInputOptions {
  /** Instructions that are placed before the conversation. */
  readonly systemPrompt?: string | undefined;
  /** How many tool calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  /**
   * How many tokens the messages may have, by the provider's reported counts or else by an estimate. Beyond that, long
   * results and arguments of earlier turns are shortened first. Then the oldest messages are left out, with a note.
   * Then the current turn is shortened, and the user's latest message last. The system prompt is never shortened.
   * @default no limit
   */
  readonly maxTokens?: number | undefined;
  /** The chat model that gets the request. It may have bound tools. It tells the `dialect` and the `modelId`. */
  readonly model?: object | undefined;
  /** The rules of the provider that gets the request. @default those of `model`; without one, `"as-stored"` */
  readonly dialect?: DialectName | undefined;
  /**
   * The name of the model that gets the request. It does not get state that only another model can read.
   *
   * @default that of `model`
   */
  readonly modelId?: string | undefined;
}

/**
 * Makes a model request's messages from the history. Summaries replace the messages that they cover. Every tool call
 * has its result. Only what the model's provider would refuse is changed, so {@link validateHistory} finds no fault. An
 * input longer than `maxTokens` is shortened. The history does not change.
 *
 * In your own graph, a node gives this to its model instead of `state.messages` and `trimMessages`.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not accept.
 * @throws InvalidMessageError if `history` is not a list.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { createModel, toModelInput } from "langgraph-tether";
 *
 * const history = [
 *   new AIMessage({ content: "", tool_calls: [{ id: "call:1", name: "weather", args: {} }] }),
 *   new HumanMessage("Are you there?"),
 * ];
 * const model = await createModel("offline:");
 * const input = toModelInput(history, { model, systemPrompt: "Be brief.", maxTokens: 100_000 });
 * console.log(input.map((message) => message.type)); // [ 'system', 'ai', 'tool', 'human' ]
 * ```
 */
export function toModelInput(
  history: readonly BaseMessage[],
  options: ModelInputOptions = {},
): BaseMessage[] {
  checkInputOptions(options);
  return prepareModelInput(history, options).messages as BaseMessage[];
}

export interface PreparedInputOptions extends ModelInputOptions, Omit<Asked, "modelId"> {
  /** The tokens of the tools' schemas, by our estimate. They are part of the request. */
  readonly toolTokens?: number | undefined;
  /** The request's length with these messages, if known. Undefined: as the messages tell it. */
  readonly length?: InputLength | undefined;
  /** How many of the request's tools have a prompt cache mark. @default 0 */
  readonly markedTools?: number | undefined;
  /** What else is changed, because the provider has refused more. */
  readonly reduction?: Reduction | undefined;
}

/** The messages of {@link toModelInput}, their length, and what the bound changed in them. */
export function prepareModelInput(
  history: readonly BaseMessage[],
  options: PreparedInputOptions,
): FittedInput {
  const { stored, input, target } = selectMessages(history, options);
  const fitted = fitInput(input, target, boundOf(stored, target, options));
  const { messages } = fitted;
  const isSame = messages.length === history.length && messages.every((one, index) => one === history[index]);
  return isSame ? { ...fitted, messages: history } : fitted;
}

/** What the input of these stored messages must fit. */
export function boundOf(
  stored: readonly BaseMessage[],
  target: Target,
  options: PreparedInputOptions,
): Bound {
  const { maxTokens, toolTokens = 0, length, systemPrompt = "", maxToolCallsFromHistory } = options;
  const overhead = {
    toolTokens,
    promptTokens: countTextTokens(systemPrompt),
    maxToolCalls: maxToolCallsFromHistory,
    ...readingOf(target),
  };
  return {
    maxTokens,
    maxMessages: mostMessagesOf(target, options.reduction),
    toolTokens,
    length: length ?? measureInput(stored, overhead),
  };
}

/** For whom the input is made. Without a name, the history is sent as it is stored. */
export function identityFor({ model, dialect, modelId, ...asked }: PreparedInputOptions): ModelIdentity {
  const own: Partial<ModelIdentity> = model === undefined ? {} : identityOf(model);
  return {
    dialect: dialect ?? own.dialect ?? "as-stored",
    modelId: modelId ?? own.modelId,
    client: asked.client ?? own.client,
    host: asked.host ?? own.host,
  };
}

/** The messages that are projected, and the lists on the way to them, each made from the one before. */
export function selectMessages(
  history: readonly BaseMessage[],
  { systemPrompt, maxToolCallsFromHistory, markedTools = 0, reduction, ...options }: PreparedInputOptions,
) {
  assertList(history);
  const survey = surveyOf(history);
  const given = targetOf(identityFor(options));
  // Values that are not messages are left out, and removals are carried out.
  const isRead = survey.odd === 0 || isMessageList(history);
  const stored = isRead ? history : readMessages(history, () => {});
  const paired = pairedHistory(stored, survey, given);
  const read = sinceCompaction(paired, given);
  const filtered =
    maxToolCallsFromHistory === undefined ? read : filterToolCalls(read, maxToolCallsFromHistory);
  const settled = settleServerCalls(filtered, given);
  const whole = withSystem(settled, survey, systemPrompt, given);
  return { stored, paired, read, filtered, ...reduceConversation(whole, given, markedTools, reduction) };
}

/** The messages that the model sees, with a result after each call. The same array if all are visible and paired. */
function pairedHistory(
  history: readonly BaseMessage[],
  { odd, summaries, paired }: Survey,
  { dialect }: Target,
): readonly BaseMessage[] {
  if (odd === 0 && summaries === 0 && paired === history.length) return history;
  return repairHistory(visibleMessages(plainRoles(history, dialect))).messages;
}

function visibleMessages(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  if (messages.every((message) => coverageOf(message) === undefined)) return messages;
  return flattenVisible(visibleHistory(messages));
}

/** Without the messages that the provider no longer reads. System messages stay. */
function sinceCompaction(messages: readonly BaseMessage[], target: Target): readonly BaseMessage[] {
  const cut = compactedAt(messages, target);
  return cut === 0 ? messages : messages.filter(({ type }, index) => index >= cut || type === "system");
}

/** System messages stay in their places if the provider accepts all of them there. Otherwise they go to the front. */
function withSystem(
  messages: readonly BaseMessage[],
  { odd, systems }: Survey,
  systemPrompt: string | undefined,
  { dialect, modelId }: Target,
): Conversation {
  const isSystem = ({ type }: BaseMessage) => type === "system";
  const isPrompted = systemPrompt !== undefined && systemPrompt.trim() !== "";
  const prompt = isPrompted ? [new SystemMessage(systemPrompt)] : [];
  const talk = messages.findIndex((message) => !isSystem(message));
  const front = talk < 0 ? messages.length : talk;
  const whole = { system: [...prompt, ...messages.slice(0, front)], messages: messages.slice(front) };
  // The survey tells this for most histories, whose messages are not read again.
  if (odd === 0 && systems === front && prompt.length + front < 2) return whole;
  const isTaken = misplacedSystem([...prompt, ...messages], dialect, modelId ?? "") < 0;
  return isTaken ? whole : systemInFront(whole, dialect);
}

const OPTION_NAMES: readonly (keyof ModelInputOptions)[] = [
  "systemPrompt",
  "maxToolCallsFromHistory",
  "maxTokens",
  "model",
  "dialect",
  "modelId",
];

/** @throws InvalidSettingError for an unknown name, or a value that the option does not accept. Undefined values pass. */
export function checkInputOptions(options: ModelInputOptions): void {
  const given: unknown = options;
  if (!isRecord(given)) throw InvalidSettingError.expected("options", "an object", given);
  const { systemPrompt, maxToolCallsFromHistory, maxTokens, model, dialect, modelId } = options;
  for (const name of Object.keys(options)) {
    if (OPTION_NAMES.includes(name as keyof ModelInputOptions)) continue;
    const help = didYouMean(name, OPTION_NAMES) || ` Known options are: ${OPTION_NAMES.join(", ")}.`;
    throw new InvalidSettingError(name, `Unknown option \`${name}\`.${help}`);
  }
  for (const [name, text] of Object.entries({ systemPrompt, modelId }))
    if (text !== undefined && typeof text !== "string")
      throw InvalidSettingError.expected(name, "a string", text);
  if (maxToolCallsFromHistory !== undefined) checkToolCallsToKeep(maxToolCallsFromHistory);
  if (maxTokens !== undefined && !(typeof maxTokens === "number" && maxTokens >= 0))
    throw InvalidSettingError.expected("maxTokens", "a number of 0 or more", maxTokens);
  if (model !== undefined && !isChatModel(innermostOf(model)))
    throw InvalidSettingError.expected("model", "a chat model", model);
  if (dialect !== undefined) dialectNamed(dialect);
}

function innermostOf(model: unknown): unknown {
  return isRecord(model) ? innermost(model) : model;
}
