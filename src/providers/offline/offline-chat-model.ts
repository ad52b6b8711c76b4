/** The embedded model that is used if no provider is configured. */

import { isDeepStrictEqual } from "node:util";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BaseChatModelParams,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  type StandardMessageStructure,
  type ToolMessage,
} from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { isAIMessage } from "../../history/call.js";
import { groupMessages } from "../../history/group.js";
import { isUserMessage } from "../../history/summary.js";
import { hashText } from "../../shared/json.js";
import { shortened } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { validateHistory } from "../rules/validate-history.js";
import {
  type FindCalls,
  findLiteralCalls,
  findSteps,
  type PlannedCall,
  type PlannedStep,
} from "./literal-calls.js";

/** What the model understands, and says about results. Without one it understands `call NAME {json}`. */
export interface OfflineLanguage {
  readonly findCalls: FindCalls;
  /** Contract: returns undefined for a result that is said in the usual words. */
  readonly stateResult: (call: PlannedCall, content: string) => string | undefined;
  /** What can be asked for, as the beginning of a sentence that ends with a call by its name. */
  readonly examples: string;
}

const LITERAL: OfflineLanguage = {
  findCalls: (text, toolNames) =>
    findLiteralCalls(text, toolNames).map(({ name, args = {} }) => ({ name, args })),
  stateResult: () => undefined,
  examples: "To use one,",
};

interface OfflineChatModelOptions extends BaseChatModelParams {
  /** @default calls that are written out */
  language?: OfflineLanguage;
}

export interface OfflineCallOptions extends BaseChatModelCallOptions {
  /** Bound tools, in OpenAI's or Anthropic's format. Usually set by `bindTools`. */
  tools?: readonly unknown[];
}

/**
 * A small rule-based chat model without network, key, clock or randomness. It calls the bound tools that a
 * request names (`call look {"at": 2} and call look then call list`), and states their results. The same messages give
 * the same response.
 *
 * It refuses a history with calls and results that do not belong together, with an {@link OfflineBadRequestError}.
 */
export class OfflineChatModel extends BaseChatModel<OfflineCallOptions> {
  readonly model = "offline";
  readonly #language: OfflineLanguage;

  constructor({ language = LITERAL, ...rest }: OfflineChatModelOptions = {}) {
    super(rest);
    this.#language = language;
  }

  static override lc_name(): string {
    return "OfflineChatModel";
  }

  override _llmType(): string {
    return "offline";
  }

  override getLsParams(): { ls_provider: string; ls_model_name: string; ls_model_type: "chat" } {
    return { ls_provider: "offline", ls_model_name: this.model, ls_model_type: "chat" };
  }

  override bindTools(
    tools: BindToolsInput[],
    kwargs: Partial<OfflineCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, OfflineCallOptions> {
    return this.withConfig({ ...kwargs, tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    options.signal?.throwIfAborted();
    const { text, calls, end } = respondTo(messages, options, this.#language);
    const tool_calls = calls.map((call) => ({ type: "tool_call" as const, ...call, args: { ...call.args } }));
    // The type argument is needed because the default type has no `usage_metadata`.
    const message = new AIMessage<StandardMessageStructure>({ content: text, tool_calls, ...end });
    return { generations: [{ text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of toChunks(respondTo(messages, options, this.#language))) {
      options.signal?.throwIfAborted();
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function respondTo(
  messages: readonly BaseMessage[],
  { tools = [], tool_choice }: Pick<OfflineCallOptions, "tools" | "tool_choice">,
  language: OfflineLanguage,
) {
  refuseBadHistory(messages);
  const toolNames = new Set(tools.flatMap((tool) => nameIn(tool) ?? []));
  const choice = readToolChoice(tool_choice, toolNames);
  const start = messages.findLastIndex(isUserMessage);
  const request = messages[start]?.text ?? "";
  const rounds = readRounds(messages.slice(start + 1));
  const step = planCalls(findSteps(request, toolNames, language.findCalls), rounds, choice);
  const told = rounds.length === 0 && RECALL.test(request) ? readRounds(messages) : rounds;
  const summary = toolNames.size === 0 && told.length === 0 ? summarize(messages) : undefined;
  const words = told.length > 0 ? stateResults(told, language) : introduce([...toolNames], language);
  const text = step.length > 0 ? "" : (summary ?? words);
  const place = hashText(JSON.stringify(messages.map(essenceOf)), 20);
  const calls = step.map((call, index) => ({ id: `call_${place}_${index}`, ...call }));
  const input_tokens = messages.reduce((total, message) => total + countTokens(message.text), 0);
  const output_tokens = countTokens(text || JSON.stringify(calls));
  return {
    /** Empty if the response makes calls. */
    text,
    calls,
    /** What a stream tells at its end. */
    end: {
      response_metadata: { model_name: "offline", finish_reason: calls.length > 0 ? "tool_calls" : "stop" },
      usage_metadata: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
    },
  };
}

/** Asks for earlier turns' results: `what did the tools return?` */
const RECALL = /\bwhat (?:did|have|do) (?:(?:the|your|all) )*tools? (?:return|say|answer|report)/iu;

/**
 * What call ids are made from. The same messages give the same ids, and every call in a thread has its own. Message ids
 * also count, because summaries and limits can leave the same text before two requests.
 */
function essenceOf({ type, id, content }: BaseMessage): unknown {
  return [type, id, content];
}

/** Four characters per token is the usual rule of thumb. This model has no tokenizer. */
function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function planCalls(steps: readonly PlannedStep[], rounds: readonly Round[], choice: ToolChoice): PlannedStep {
  const next = findNextStep(steps, rounds);
  if (choice === "none") return [];
  if (choice === "auto") return next;

  // A forced model must call a tool, even if the request asks for nothing, or for nothing more.
  const candidates = [next, ...steps.toReversed()].map((step) =>
    step.filter(({ name }) => choice.includes(name)),
  );
  return candidates.find((step) => step.length > 0) ?? choice.slice(0, 1).map((name) => ({ name, args: {} }));
}

/**
 * A summary can replace the first rounds of a long turn, so the last round shows which step is done. The
 * number of rounds matters only among equal steps, and for rounds that this model did not plan.
 */
function findNextStep(steps: readonly PlannedStep[], rounds: readonly Round[]): PlannedStep {
  const calls = rounds.at(-1)?.calls;
  const done = steps.findIndex((step, index) => index >= rounds.length - 1 && isDeepStrictEqual(step, calls));
  return steps[done === -1 ? rounds.length : done + 1] ?? [];
}

/** One batch of calls and its results, in call order. */
interface Round {
  readonly calls: readonly PlannedCall[];
  readonly results: readonly (ToolMessage | undefined)[];
}

function readRounds(messages: readonly BaseMessage[]): Round[] {
  return groupMessages(messages).groups.flatMap(({ head, calls, results }): Round | [] => {
    if (!isAIMessage(head) || calls.length === 0) return [];
    const argsAt = (place: number) => head.tool_calls?.[place]?.args ?? {};
    return { calls: calls.map(({ name }, place) => ({ name, args: argsAt(place) })), results };
  });
}

/*
 * Refuses a bad history, with the checks of `validateHistory`.
 */

/** The rules about calls and their results. Others depend on a provider, which this model is not. */
const PAIRING: ReadonlySet<string> = new Set([
  "empty-history",
  "missing-result",
  "orphan-result",
  "duplicate-result",
]);

function refuseBadHistory(messages: readonly BaseMessage[]): void {
  const broken = [
    ...validateHistory(messages, "openai").filter(({ rule }) => PAIRING.has(rule)),
    ...validateHistory(messages, "strict").filter(({ rule }) => rule === "result-order"),
  ];
  const [first] = broken;
  if (first !== undefined) throw new OfflineBadRequestError(first.message, `messages.[${first.index}]`);
}

/**
 * A strict provider's error for a request that it cannot accept: HTTP 400, in the shape of the OpenAI client. A retry
 * never helps, because it sends the same history again.
 */
export class OfflineBadRequestError extends Error {
  override readonly name = "OfflineBadRequestError";
  readonly status = 400;
  readonly code = "invalid_request_error";
  readonly type = "invalid_request_error";
  /** The faulty place in the request, such as `messages.[3]`. */
  readonly param: string;

  constructor(message: string, param: string) {
    super(message);
    this.param = param;
  }
}

/*
 * Reads the `tool_choice` option, in the forms of the providers and of LangChain.
 */

/** The tools of which one must be called, or whether a tool can be called at all. */
type ToolChoice = "auto" | "none" | readonly string[];

/** @throws {OfflineBadRequestError} if the choice cannot be met with these tools. */
function readToolChoice(value: unknown, toolNames: ReadonlySet<string>): ToolChoice {
  // A word or the name of a tool. As an object: OpenAI's form, Anthropic's, or `{ type: "any" }`.
  const word = nameIn(value ?? "auto") ?? (isRecord(value) ? value["type"] : undefined);
  if (word === "auto" || word === "none") return word;
  if (typeof word === "string" && toolNames.has(word)) return [word];
  const isAny = word === "required" || word === "any";
  if (isAny && toolNames.size > 0) return [...toolNames];
  const reason = isAny
    ? "'tool_choice' is only allowed when 'tools' are specified."
    : `${JSON.stringify(value)} names none of the 'tools'.`;
  throw new OfflineBadRequestError(`Invalid value for 'tool_choice': ${reason}`, "tool_choice");
}

/** A tool's name, in OpenAI's form or Anthropic's. A provider-run tool may have none. */
function nameIn(tool: unknown): string | undefined {
  if (typeof tool === "string") return tool;
  if (!isRecord(tool)) return undefined;
  const name = isRecord(tool["function"]) ? tool["function"]["name"] : tool["name"];
  return typeof name === "string" ? name : undefined;
}

/*
 * The sentences of the model.
 */

const LONGEST_RESULT = 1000;

/** States every result of the rounds, in call order. */
function stateResults(rounds: readonly Round[], language: OfflineLanguage): string {
  const sentences = rounds.flatMap(({ calls, results }) =>
    calls.flatMap((call, place) => {
      const result = results[place];
      return result === undefined ? [] : [stateResult(call, result, language)];
    }),
  );
  if (sentences.length < 2) return sentences.join("");
  return `Here is what the tools returned:\n${sentences.map((sentence) => `- ${sentence}`).join("\n")}`;
}

function stateResult(call: PlannedCall, { text, status }: ToolMessage, language: OfflineLanguage): string {
  const content = shortened(text.trim(), LONGEST_RESULT) || "(no output)";
  if (status === "error") return content.includes(call.name) ? content : `${call.name} failed: ${content}`;
  return language.stateResult(call, content) ?? `${call.name} returned: ${content}`;
}

function introduce(toolNames: readonly string[], { examples }: OfflineLanguage): string {
  return [
    "I am the offline model: a small set of rules, not a language model.",
    toolNames.length === 0
      ? "No tools are available to me here."
      : `I can call these tools: ${toolNames.join(", ")}. ${examples} call a tool by its name ` +
        `("call ${toolNames[0]} {…}" with its arguments as JSON).`,
    "For a real model, set MODEL=openai:gpt-4o-mini and OPENAI_API_KEY in the environment.",
  ].join(" ");
}

const SUMMARY_REQUEST =
  /\bsummari[sz]e\b|\bsummary\b(?<=\b(?:write|create|produce|extract|give|make|update|extend)\b[^.\n]{0,60}\bsummary)|总结|摘要/iu;
const HEADING = "Summary of the conversation so far:";
/** Empty lines, tags around a conversation, and what an earlier summary has besides its lines. */
const FRAME = new RegExp(`^(?:</?\\w+>|…|${HEADING})?$`);
const LINES_AT_EACH_END = 3;
const LONGEST_LINE = 160;

/** A conversation's first and last lines. Undefined if neither the system prompt nor the last message asks for them. */
function summarize(messages: readonly BaseMessage[]): string | undefined {
  const prompt = messages.findLast(({ type }) => type === "human");
  const isAsking = (message: BaseMessage): boolean => message.type === "system" || message === prompt;
  if (!messages.some((message) => isAsking(message) && SUMMARY_REQUEST.test(message.text))) return undefined;
  const lines = messages
    .filter(({ type }) => type === "human" || type === "ai")
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => line.trim())
    .filter((line) => !FRAME.test(line) && !SUMMARY_REQUEST.test(line));
  const isShort = lines.length <= 2 * LINES_AT_EACH_END;
  const ends = [...lines.slice(0, LINES_AT_EACH_END), "…", ...lines.slice(-LINES_AT_EACH_END)];
  return [HEADING, ...(isShort ? lines : ends).map((line) => shortened(line, LONGEST_LINE))].join("\n");
}

/*
 * The chunks of a stream.
 */

/** About the size in which providers stream arguments: even a short call has several pieces. */
const ARGUMENT_PIECES = /[\s\S]{1,8}/gu;
const WORDS = /\S+\s*|\s+/gu;
/** Each piece takes time on its way through a graph, and a client chooses the length of the text. */
const MOST_PIECES_OF_LONG = 100;
const LONG = 4_000;

function* toChunks({ text, calls, end }: ReturnType<typeof respondTo>): Generator<AIMessageChunk> {
  for (const words of piecesOf(text, WORDS)) yield new AIMessageChunk({ content: words });
  for (const [index, { id, name, args }] of calls.entries()) {
    yield callChunk({ index, id, name, args: "" });
    for (const piece of piecesOf(JSON.stringify(args), ARGUMENT_PIECES))
      yield callChunk({ index, args: piece });
  }
  yield new AIMessageChunk<StandardMessageStructure>({ content: "", ...end });
}

function piecesOf(text: string, short: RegExp): readonly string[] {
  if (text.length <= LONG) return text.match(short) ?? [];
  const characters = [...text];
  const length = Math.ceil(text.length / MOST_PIECES_OF_LONG);
  return Array.from({ length: Math.ceil(characters.length / length) }, (_, index) =>
    characters.slice(index * length, (index + 1) * length).join(""),
  );
}

function callChunk(chunk: { index: number; args: string; id?: string; name?: string }): AIMessageChunk {
  return new AIMessageChunk({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", ...chunk }] });
}
