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
  type UsageMetadata,
} from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { isAIMessage } from "../history/call.js";
import { isResult } from "../history/result.js";
import { isUserMessage } from "../history/summary.js";
import { validateHistory } from "../providers/validate-history.js";
import { hashText } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import { type FindCalls, findLiteralCalls, findSteps, type PlannedCall, type Step } from "./literal-calls.js";

/** What the model understands, and says of results. Without one it understands `call NAME {json}`. */
export interface OfflineLanguage {
  readonly findCalls: FindCalls;
  /** Contract: undefined for a result that is said in the usual words. */
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

  override invocationParams(options?: this["ParsedCallOptions"]): Record<string, unknown> {
    return { model: this.model, tools: options?.tools, tool_choice: options?.tool_choice };
  }

  override bindTools(
    tools: BindToolsInput[],
    kwargs: Partial<OfflineCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, OfflineCallOptions> {
    return this.withConfig({ ...kwargs, tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    options.signal?.throwIfAborted();
    const message = toMessage(prepareReply(messages, options, this.#language));
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of toChunks(prepareReply(messages, options, this.#language))) {
      options.signal?.throwIfAborted();
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function prepareReply(
  messages: readonly BaseMessage[],
  { tools = [], tool_choice }: Pick<OfflineCallOptions, "tools" | "tool_choice">,
  language: OfflineLanguage,
): CompleteReply {
  refuseBadHistory(messages);
  const toolNames = new Set(tools.map(nameIn).filter((name) => name !== undefined));
  const choice = readToolChoice(tool_choice, toolNames);
  const { request, rounds } = readTurn(messages);
  const planned = planCalls(findSteps(request, toolNames, language.findCalls), rounds, choice);
  const text = planned.length > 0 ? "" : replyText(messages, toolNames, language);
  const calls = identifyCalls(planned, messages);
  const input = messages.map((message) => message.text);
  return { text, calls, usage: estimateUsage(input, text || JSON.stringify(calls)) };
}

/** Asks for results of earlier turns: `what did the tools return?` */
const RECALL = /\bwhat (?:did|have|do) (?:(?:the|your|all) )*tools? (?:return|say|answer|report)/iu;

function replyText(
  messages: readonly BaseMessage[],
  toolNames: ReadonlySet<string>,
  language: OfflineLanguage,
): string {
  const { request, rounds } = readTurn(messages);
  const told = rounds.length === 0 && RECALL.test(request) ? readRounds(messages) : rounds;
  if (told.length > 0) return stateResults(told, language);
  const summary = toolNames.size === 0 ? summarize(messages) : undefined;
  return summary ?? introduce([...toolNames], language);
}

function planCalls(steps: readonly Step[], rounds: readonly Round[], choice: ToolChoice): Step {
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
function findNextStep(steps: readonly Step[], rounds: readonly Round[]): Step {
  const last = rounds.at(-1);
  if (last === undefined) return steps[0] ?? [];
  const done = steps.findIndex(
    (step, index) => index >= rounds.length - 1 && isDeepStrictEqual(step, last.calls),
  );
  return steps[done === -1 ? rounds.length : done + 1] ?? [];
}

/*
 * Refuses a bad history, with the checks of `validateHistory`.
 */

/** The rules about calls and their results. Others depend on a provider, and this model is none. */
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
 * The error of a strict provider for a request that it cannot accept: HTTP 400, in the shape of the OpenAI
 * client. A retry never helps, because it sends the same history again.
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
 * Reads the current turn: the user's last request, and what has been done for it.
 */

/** One batch of calls and its results, in call order. */
interface Round {
  readonly calls: readonly PlannedCall[];
  readonly results: readonly ToolMessage[];
}

function readTurn(messages: readonly BaseMessage[]) {
  const start = messages.findLastIndex(isUserMessage);
  return { request: messages[start]?.text ?? "", rounds: readRounds(messages.slice(start + 1)) };
}

/** All rounds among the messages, including those of earlier turns. */
function readRounds(messages: readonly BaseMessage[]): Round[] {
  const rounds: { calls: PlannedCall[]; results: ToolMessage[] }[] = [];
  for (const message of messages) {
    if (isAIMessage(message)) {
      const calls = readCalls(message);
      if (calls.length > 0) rounds.push({ calls, results: [] });
    }
    if (isResult(message)) rounds.at(-1)?.results.push(message);
  }
  return rounds;
}

function readCalls(message: AIMessage): PlannedCall[] {
  const valid = (message.tool_calls ?? []).map(({ name, args }) => ({ name, args }));
  const invalid = (message.invalid_tool_calls ?? []).map(({ name }) => ({
    name: name ?? "unknown tool",
    args: {},
  }));
  return [...valid, ...invalid];
}

/*
 * Reads the `tool_choice` option, in the forms of the providers and of LangChain.
 */

/** The names of the tools of which one must be called, or whether a tool can be called at all. */
type ToolChoice = "auto" | "none" | readonly string[];

/** @throws {OfflineBadRequestError} if the choice cannot be met with these tools. */
function readToolChoice(value: unknown, toolNames: ReadonlySet<string>): ToolChoice {
  // A word or the name of a tool. As an object: OpenAI's form, Anthropic's, or `{ type: "any" }`.
  const word = nameIn(value ?? "auto") ?? (isRecord(value) ? value["type"] : undefined);
  if (typeof word !== "string") throw badChoice(`got ${JSON.stringify(value)}.`);
  if (word === "auto" || word === "none") return word;
  if (word !== "required" && word !== "any") {
    if (!toolNames.has(word)) throw badChoice(`tool '${word}' not found in 'tools'.`);
    return [word];
  }
  if (toolNames.size === 0) throw badChoice("'tool_choice' is only allowed when 'tools' are specified.");
  return [...toolNames];
}

function badChoice(reason: string): OfflineBadRequestError {
  return new OfflineBadRequestError(`Invalid value for 'tool_choice': ${reason}`, "tool_choice");
}

/** The name of a tool, in OpenAI's form or Anthropic's. One that a provider runs itself can have none. */
function nameIn(tool: unknown): string | undefined {
  if (typeof tool === "string") return tool;
  if (!isRecord(tool)) return undefined;
  const name = isRecord(tool["function"]) ? tool["function"]["name"] : tool["name"];
  return typeof name === "string" ? name : undefined;
}

/*
 * The ids of calls: the model stays deterministic, and every call of a thread gets a different id.
 */

interface IdentifiedCall extends PlannedCall {
  /** At most 40 characters of `[A-Za-z0-9_-]`, which every provider accepts. */
  readonly id: string;
}

/** Gives ids to the calls of the response to these messages. */
function identifyCalls(calls: readonly PlannedCall[], messages: readonly BaseMessage[]): IdentifiedCall[] {
  const texts = messages.map((message) => JSON.stringify(essenceOf(message)));
  const digest = hashText(texts.join(""), 20);
  return calls.map(({ name, args }, position) => ({ id: `call_${digest}_${position}`, name, args }));
}

/**
 * The ids of the messages count too. Two requests of one thread can have the same text and the same history before them
 * after summaries and limits have shortened it.
 */
function essenceOf(message: BaseMessage): unknown {
  return [
    message.type,
    message.id,
    message.content,
    isAIMessage(message) ? message.tool_calls : undefined,
    isResult(message) ? message.tool_call_id : undefined,
  ];
}

/*
 * The sentences of the model.
 */

const MAX_RESULT_LENGTH = 1000;

/** States every result of the rounds, in call order. */
function stateResults(rounds: readonly Round[], language: OfflineLanguage): string {
  const sentences = rounds.flatMap(({ calls, results }) =>
    results.flatMap((result, position) => {
      const call = calls[position];
      return call === undefined ? [] : [stateResult(call, result, language)];
    }),
  );
  if (sentences.length < 2) return sentences.join("");
  return `Here is what the tools returned:\n${sentences.map((sentence) => `- ${sentence}`).join("\n")}`;
}

function stateResult(call: PlannedCall, result: ToolMessage, language: OfflineLanguage): string {
  const content = shorten(result.text.trim(), MAX_RESULT_LENGTH) || "(no output)";
  if (result.status === "error")
    return content.includes(call.name) ? content : `${call.name} failed: ${content}`;
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

/*
 * Makes the messages of a response: one message, or the chunks of a stream with the same content.
 */

/** About the size in which providers stream arguments: even a short call has several pieces. */
const ARGUMENT_PIECES = /[\s\S]{1,8}/gu;
const WORDS = /\S+\s*|\s+/gu;
/** Each piece takes time on its way through a graph, and a client chooses the length of the text. */
const MOST_PIECES_OF_LONG = 100;
const LONG = 4_000;
const CHARACTERS_PER_TOKEN = 4;

interface CompleteReply {
  /** Empty if the response makes calls. */
  readonly text: string;
  readonly calls: readonly IdentifiedCall[];
  readonly usage: UsageMetadata;
}

function toMessage({ text, calls, usage }: CompleteReply): AIMessage {
  // The type argument is needed because the default type has no `usage_metadata`.
  return new AIMessage<StandardMessageStructure>({
    content: text,
    tool_calls: calls.map(({ id, name, args }) => ({ type: "tool_call", id, name, args: { ...args } })),
    response_metadata: responseMetadata(calls),
    usage_metadata: usage,
  });
}

function* toChunks({ text, calls, usage }: CompleteReply): Generator<AIMessageChunk> {
  for (const words of piecesOf(text, WORDS)) yield new AIMessageChunk({ content: words });
  for (const [index, { id, name, args }] of calls.entries()) {
    yield callChunk({ index, id, name, args: "" });
    for (const piece of piecesOf(JSON.stringify(args), ARGUMENT_PIECES))
      yield callChunk({ index, args: piece });
  }
  yield new AIMessageChunk<StandardMessageStructure>({
    content: "",
    response_metadata: responseMetadata(calls),
    usage_metadata: usage,
  });
}

function piecesOf(text: string, short: RegExp): readonly string[] {
  const length = Math.ceil(text.length / MOST_PIECES_OF_LONG);
  return text.match(text.length <= LONG ? short : new RegExp(`[^]{1,${length}}`, "gu")) ?? [];
}

/** Four characters for each token is the usual rule of thumb. This model has no tokenizer. */
function estimateUsage(input: readonly string[], output: string): UsageMetadata {
  const input_tokens = input.reduce((total, text) => total + countTokens(text), 0);
  const output_tokens = countTokens(output);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

function countTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function callChunk(chunk: { index: number; args: string; id?: string; name?: string }): AIMessageChunk {
  return new AIMessageChunk({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", ...chunk }] });
}

function responseMetadata(calls: readonly IdentifiedCall[]): Record<string, string> {
  return { model_name: "offline", finish_reason: calls.length > 0 ? "tool_calls" : "stop" };
}

/*
 * A short extractive summary: the first and the last lines of the text.
 */

const REQUEST =
  /\bsummari[sz]e\b|\b(?:write|create|produce|extract|give|make|update|extend)\b[^.\n]{0,60}\bsummary\b|总结|摘要/iu;
const TAGGED = /<(\w+)>\n?([\s\S]*?)\n?<\/\1>/gu;
const HEADING = "Summary of the conversation so far:";
const GAP = "…";
const LINES_AT_EACH_END = 3;
const MAX_LINE_LENGTH = 160;

/** Undefined if neither the system prompt nor the last human message asks for a summary. */
function summarize(messages: readonly BaseMessage[]): string | undefined {
  const prompt = messages.findLast(({ type }) => type === "human");
  const instructions = messages.filter((message) => message.type === "system" || message === prompt);
  if (!instructions.some(({ text }) => REQUEST.test(text))) return undefined;
  const conversation = messages.filter(
    (message) => message !== prompt && (message.type === "human" || message.type === "ai"),
  );
  const given = [...conversation.map((message) => message.text), withoutInstructions(prompt?.text ?? "")];
  const lines = given
    .flatMap((text) => text.split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && line !== HEADING && line !== GAP);
  if (lines.length === 0) return "There is nothing to summarise.";
  const isShort = lines.length <= 2 * LINES_AT_EACH_END;
  const chosen = isShort
    ? lines
    : [...lines.slice(0, LINES_AT_EACH_END), GAP, ...lines.slice(-LINES_AT_EACH_END)];
  return [HEADING, ...chosen.map((line) => shorten(line, MAX_LINE_LENGTH))].join("\n");
}

/**
 * The text to summarise is in tags if the prompt has any. Otherwise it follows the lines that ask for a
 * summary.
 */
function withoutInstructions(prompt: string): string {
  const tagged = [...prompt.matchAll(TAGGED)].map(([, , content]) => content ?? "");
  const longest = tagged.toSorted((left, right) => right.length - left.length)[0];
  if (longest?.trim()) return longest;
  const lines = prompt.split("\n").filter((line) => !REQUEST.test(line));
  return lines.some((line) => line.trim() !== "") ? lines.join("\n") : prompt;
}

function shorten(text: string, longest: number): string {
  const characters = [...text];
  return characters.length > longest ? `${characters.slice(0, longest).join("")}…` : text;
}
