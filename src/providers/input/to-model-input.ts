/** Makes the messages of a request from a history. */

import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../../errors.js";
import { checkToolCallsToKeep, filterEach, type ToolCallsToKeep } from "../../history/cut.js";
import { type Survey, surveyOf } from "../../history/open-calls.js";
import { flattenVisible, visibleHistory } from "../../history/plan-summary.js";
import { assertList, isMessageList, readEach, soundMessages } from "../../history/read-messages.js";
import { repairHistory } from "../../history/reducer/repair-history.js";
import { coverageOf } from "../../history/summary.js";
import { didYouMean } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { type DialectName, dialectNamed } from "../dialects.js";
import { compactedAt, type Target } from "../rule.js";
import { ALL_STEPS, type Bound, type FittedInput, fitInput, SHORTEN_WORK } from "./bounds.js";
import type { InputLineage } from "./lineage.js";
import type { Conversation } from "./projection.js";
import { plainRoles } from "./steps/turns.js";

/** The options of `toModelInput`. */
export interface ModelInputOptions {
  /** Instructions that are placed before the conversation. */
  readonly systemPrompt?: string | undefined;
  /** How many tool calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  /**
   * How many tokens the messages may have, by our estimate. If they have more, long results and arguments of
   * earlier turns are shortened first. Then the oldest messages are left out, and a note says how many. Then
   * the current turn is shortened. The user's latest message is shortened last, if it alone is too long. The
   * system prompt is never shortened. @default no limit
   */
  readonly maxTokens?: number | undefined;
  /** The rules of the provider that gets the request. @default "strict", which every provider accepts */
  readonly dialect?: DialectName | undefined;
  /** The name of the model that gets the request. State that only another model can read is not sent to it. */
  readonly modelId?: string | undefined;
}

/**
 * Makes the messages of one model request from the history. Summaries replace the messages that they cover.
 * Every tool call has its result. Calls of earlier turns are left out beyond the limit. All system messages
 * are joined into one at the front. Anything that a provider of the dialect would refuse is changed to a form
 * that it accepts, so {@link validateHistory} finds nothing in it. If it is longer than `maxTokens`, it is
 * shortened. The history is not changed.
 *
 * @throws InvalidSettingError for an unknown option, or a value that the option does not take.
 * @throws InvalidMessageError if `history` is not a list.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { toModelInput } from "langgraph-tether";
 *
 * const history = [
 *   new AIMessage({ content: "", tool_calls: [{ id: "call:1", name: "weather", args: {} }] }),
 *   new HumanMessage("Are you there?"),
 * ];
 * const input = toModelInput(history, { systemPrompt: "Be brief.", dialect: "openai" });
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

export interface PreparedInputOptions extends ModelInputOptions {
  /** Above this many tokens, results and arguments are shortened, and nothing else is changed. */
  readonly budget?: number | undefined;
}

/**
 * The messages of {@link toModelInput}, and what the bounds changed in them.
 *
 * @param trace Learns what each step did. With it, all messages are projected, and not only the new ones.
 */
export function prepareModelInput(
  history: readonly BaseMessage[],
  {
    systemPrompt,
    maxToolCallsFromHistory,
    maxTokens,
    budget,
    dialect = "strict",
    modelId,
  }: PreparedInputOptions,
  trace?: InputLineage,
): FittedInput {
  assertList(history);
  const survey = surveyOf(history);
  const target = { dialect: dialectNamed(dialect), modelId };
  const paired = sinceCompaction(pairedHistory(history, survey, trace), target, trace);
  const filtered =
    maxToolCallsFromHistory === undefined
      ? paired
      : filteredCalls(paired, survey, maxToolCallsFromHistory, trace);
  const input = withSystemFirst(filtered, survey, systemPrompt, trace);
  const bounds: Bound[] = [
    ...(budget === undefined ? [] : [{ name: "budget" as const, tokens: budget, steps: SHORTEN_WORK }]),
    ...(maxTokens === undefined ? [] : [{ name: "window" as const, tokens: maxTokens, steps: ALL_STEPS }]),
  ];
  const fitted = fitInput(input, target, bounds, trace);
  const { messages } = fitted;
  const isSame = messages.length === history.length && messages.every((one, index) => one === history[index]);
  return isSame ? { ...fitted, messages: history } : fitted;
}

/** The messages that the model sees, with a result after each call. The same array if these are all, and paired. */
function pairedHistory(
  history: readonly BaseMessage[],
  { odd, summaries, paired }: Survey,
  trace: InputLineage | undefined,
): readonly BaseMessage[] {
  if (odd === 0 && summaries === 0) {
    const messages = paired === history.length ? history : repairHistory(history).messages;
    trace?.repaired(messages);
    return messages;
  }
  const read = readable(history, trace);
  const plain = plainRoles(hasSummary(read) ? visibleMessages(read, trace) : read);
  trace?.plainRoles(plain);
  const { messages } = repairHistory(plain);
  trace?.repaired(messages);
  return messages;
}

/** Values that are not messages are left out, and removals are carried out. */
function readable(history: readonly BaseMessage[], trace: InputLineage | undefined): readonly BaseMessage[] {
  if (isMessageList(history)) return history;
  const messages = readEach(history, () => {});
  trace?.read(messages);
  return messages.filter((message) => message !== undefined);
}

function visibleMessages(
  messages: readonly BaseMessage[],
  trace: InputLineage | undefined,
): readonly BaseMessage[] {
  const visible = visibleHistory(messages);
  trace?.visible(visible);
  return flattenVisible(visible);
}

/** Without the messages that the provider does not read any more. System messages stay. */
function sinceCompaction(
  messages: readonly BaseMessage[],
  target: Target,
  trace: InputLineage | undefined,
): readonly BaseMessage[] {
  const cut = compactedAt(messages, target);
  if (cut === 0) return messages;
  const isRead = (message: BaseMessage, index: number) => index >= cut || message.type === "system";
  trace?.compacted(messages.map((message, index) => (isRead(message, index) ? message : undefined)));
  return messages.filter(isRead);
}

function filteredCalls(
  paired: readonly BaseMessage[],
  { odd }: Survey,
  max: ToolCallsToKeep,
  trace: InputLineage | undefined,
): readonly BaseMessage[] {
  const messages = odd === 0 ? paired : soundMessages(paired);
  trace?.sound(messages);
  const left = filterEach(messages, max);
  trace?.filtered(left);
  return left === messages ? messages : left.filter((message) => message !== undefined);
}

function hasSummary(history: readonly BaseMessage[]): boolean {
  return history.some((message) => coverageOf(message) !== undefined);
}

function withSystemFirst(
  messages: readonly BaseMessage[],
  { odd, systems }: Survey,
  systemPrompt: string | undefined,
  trace: InputLineage | undefined,
): Conversation {
  const [head] = messages;
  // The survey says it of most histories, whose messages are not read again.
  const isKnown = odd === 0 && systems === (head?.type === "system" ? 1 : 0);
  const stored = isKnown ? messages.slice(0, systems) : messages.filter(({ type }) => type === "system");
  const others = isKnown ? messages.slice(systems) : messages.filter(({ type }) => type !== "system");
  const [only] = stored;
  const isFirst = stored.length === 1 && head === only;
  const hasPrompt = systemPrompt !== undefined && systemPrompt.trim() !== "";
  if (!hasPrompt && (only === undefined || isFirst)) return { system: only, messages: others };
  const joined = stored.filter(({ text }) => text.trim() !== "");
  const texts = [...(hasPrompt ? [systemPrompt] : []), ...joined.map(({ text }) => text)];
  const system = texts.length === 0 ? undefined : new SystemMessage(texts.join("\n\n"));
  trace?.joinedSystems(system, joined);
  return { system, messages: others };
}

type Check<Value> = (value: Value, name: string) => void;

const checkText: Check<string> = (value, name) => {
  if (typeof value !== "string") throw InvalidSettingError.expected(name, "a string", value);
};

const CHECKS: { readonly [Name in keyof ModelInputOptions]-?: Check<NonNullable<ModelInputOptions[Name]>> } =
  {
    systemPrompt: checkText,
    maxToolCallsFromHistory: checkToolCallsToKeep,
    maxTokens: (value, name) => {
      if (!(typeof value === "number" && value >= 0))
        throw InvalidSettingError.expected(name, "a number of 0 or more", value);
    },
    dialect: dialectNamed,
    modelId: checkText,
  };

/** @throws InvalidSettingError for an unknown name, or a value that the option does not take. Undefined values pass. */
export function checkInputOptions(options: ModelInputOptions): void {
  if (!isRecord(options)) throw InvalidSettingError.expected("options", "an object", options);
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof ModelInputOptions] : undefined;
    if (check === undefined) throw unknownOption(name);
    if (value !== undefined) (check as Check<unknown>)(value, name);
  }
}

function unknownOption(name: string): InvalidSettingError {
  const known = Object.keys(CHECKS);
  const help = didYouMean(name, known) || ` Known options are: ${known.join(", ")}.`;
  return new InvalidSettingError(name, `Unknown option \`${name}\`.${help}`);
}
