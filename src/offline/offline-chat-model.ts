/** The embedded model that is used if no provider is configured. */

import { setTimeout as delay } from "node:timers/promises";
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
import { z } from "zod/v4";
import { isAIMessage } from "../history/call.js";
import { isResult } from "../history/result.js";
import { findSteps, introduce, type PlannedCall, type Step, stateResults } from "./free-text.js";
import { type IdentifiedCall, identifyCalls } from "./literal-calls.js";
import { OfflineBadRequestError, refuseBadHistory } from "./refuse-bad-history.js";

export interface OfflineChatModelOptions extends BaseChatModelParams {
  /**
   * Pause before each streamed chunk, in milliseconds, 0 or more. With 20, a stream is easy to watch.
   * @default 0
   */
  chunkDelayMs?: number;
}

export interface OfflineCallOptions extends BaseChatModelCallOptions {
  /** Bound tools, in OpenAI's or Anthropic's format. Usually set by `bindTools`. */
  tools?: readonly unknown[];
}

/**
 * A small rule-based chat model without network, key, clock or randomness. It calls the bound tools that a
 * request asks for, in parallel if it asks for several things, and states their results. The same messages
 * give the same response.
 *
 * It refuses a bad history like a strict provider, with an {@link OfflineBadRequestError}.
 */
export class OfflineChatModel extends BaseChatModel<OfflineCallOptions> {
  readonly model = "offline";
  readonly #chunkDelayMs: number;

  constructor(options: OfflineChatModelOptions = {}) {
    const { chunkDelayMs = 0, ...rest } = options;
    if (!(Number.isFinite(chunkDelayMs) && chunkDelayMs >= 0)) {
      throw new TypeError(
        `Expected \`chunkDelayMs\` to be a number of milliseconds from 0 on, got \`${chunkDelayMs}\`.`,
      );
    }
    super(rest);
    this.#chunkDelayMs = chunkDelayMs;
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
    const message = toMessage(prepareReply(messages, options));
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of toChunks(prepareReply(messages, options))) {
      if (this.#chunkDelayMs > 0) await delay(this.#chunkDelayMs, undefined, { signal: options.signal });
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
): CompleteReply {
  refuseBadHistory(messages);
  const toolNames = new Set(tools.flatMap(readToolName));
  const reply = planReply(messages, { toolNames, toolChoice: readToolChoice(tool_choice, toolNames) });
  const text = reply.kind === "text" ? reply.text : "";
  const calls = reply.kind === "calls" ? identifyCalls(reply.calls, messages) : [];
  const input = messages.map((message) => message.text);
  return { text, calls, usage: estimateUsage(input, text || JSON.stringify(calls)) };
}

const toolSchema = z.union([
  z.object({ function: z.object({ name: z.string() }) }).transform((tool) => tool.function.name),
  z.object({ name: z.string() }).transform((tool) => tool.name),
]);

/** A tool without a name (for example one that a provider runs itself) cannot be called here. */
function readToolName(tool: unknown): string[] {
  const name = toolSchema.safeParse(tool).data;
  return name === undefined ? [] : [name];
}

/*
 * Plans the response of the offline model: a pure function of the messages and the tools.
 */

export type Reply =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "calls"; readonly calls: readonly PlannedCall[] };

export interface ReplyOptions {
  /** The bound tools, in the order in which they were bound. */
  readonly toolNames: ReadonlySet<string>;
  readonly toolChoice: ToolChoice;
}

/** Asks for results of earlier turns: `what did the tools return?` */
const RECALL = /\bwhat (?:did|have|do) (?:(?:the|your|all) )*tools? (?:return|say|answer|report)/iu;

export function planReply(messages: readonly BaseMessage[], { toolNames, toolChoice }: ReplyOptions): Reply {
  const { request, rounds } = readTurn(messages);
  const calls = planCalls(findSteps(request, toolNames), rounds, { toolNames, toolChoice });
  if (calls.length > 0) return { kind: "calls", calls };
  if (rounds.length > 0) return { kind: "text", text: stateResults(rounds) };
  const earlier = RECALL.test(request) ? readRounds(messages) : [];
  if (earlier.length > 0) return { kind: "text", text: stateResults(earlier) };
  const summary = toolNames.size === 0 ? summarize(messages) : undefined;
  return { kind: "text", text: summary ?? introduce([...toolNames]) };
}

function planCalls(steps: readonly Step[], rounds: readonly Round[], options: ReplyOptions): Step {
  const { toolNames, toolChoice } = options;
  const next = findNextStep(steps, rounds);
  if (toolChoice.kind === "none") return [];
  if (toolChoice.kind === "auto") return next;

  // A forced model must call a tool, even if the request asks for nothing, or for nothing more.
  const names = toolChoice.kind === "tool" ? [toolChoice.name] : [...toolNames];
  const candidates = [next, ...steps.toReversed()].map((step) =>
    step.filter(({ name }) => names.includes(name)),
  );
  return candidates.find((step) => step.length > 0) ?? names.slice(0, 1).map((name) => ({ name, args: {} }));
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
 * Reads the current turn: the user's last request, and what has been done for it.
 */

/** One batch of calls and its results, in call order. */
export interface Round {
  readonly calls: readonly PlannedCall[];
  readonly results: readonly ToolMessage[];
}

export interface Turn {
  readonly request: string;
  readonly rounds: readonly Round[];
}

export function readTurn(messages: readonly BaseMessage[]): Turn {
  const start = messages.findLastIndex(isRequest);
  return { request: messages[start]?.text ?? "", rounds: readRounds(messages.slice(start + 1)) };
}

/** All rounds among the messages, including those of earlier turns. */
export function readRounds(messages: readonly BaseMessage[]): Round[] {
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

/** A summary is a human message too, by LangChain's convention. It is not a request. */
function isRequest(message: BaseMessage): boolean {
  return message.type === "human" && message.additional_kwargs.lc_source !== "summarization";
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

export type ToolChoice =
  | { readonly kind: "auto" | "none" | "required" }
  | { readonly kind: "tool"; readonly name: string };

const KINDS: ReadonlyMap<string, "auto" | "none" | "required"> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "required"],
  ["any", "required"],
]);

/** A word or the name of a tool. As an object: OpenAI's form, Anthropic's, or `{ type: "any" }`. */
const wordSchema = z.union([
  z.string(),
  z.object({ function: z.object({ name: z.string() }) }).transform((choice) => choice.function.name),
  z.object({ name: z.string() }).transform((choice) => choice.name),
  z.object({ type: z.string() }).transform((choice) => choice.type),
]);

/** @throws {OfflineBadRequestError} if the choice cannot be met with these tools. */
export function readToolChoice(value: unknown, toolNames: ReadonlySet<string>): ToolChoice {
  const word = wordSchema.safeParse(value ?? "auto").data;
  if (word === undefined) throw badChoice(`got ${JSON.stringify(value)}.`);
  const kind = KINDS.get(word);
  if (kind === "required" && toolNames.size === 0) {
    throw badChoice("'tool_choice' is only allowed when 'tools' are specified.");
  }
  if (kind !== undefined) return { kind };
  if (!toolNames.has(word)) throw badChoice(`tool '${word}' not found in 'tools'.`);
  return { kind: "tool", name: word };
}

function badChoice(reason: string): OfflineBadRequestError {
  return new OfflineBadRequestError(`Invalid value for 'tool_choice': ${reason}`, "tool_choice");
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

export interface CompleteReply {
  /** Empty if the response makes calls. */
  readonly text: string;
  readonly calls: readonly IdentifiedCall[];
  readonly usage: UsageMetadata;
}

export function toMessage({ text, calls, usage }: CompleteReply): AIMessage {
  // The type argument is needed because the default type has no `usage_metadata`.
  return new AIMessage<StandardMessageStructure>({
    content: text,
    tool_calls: calls.map(({ id, name, args }) => ({ type: "tool_call", id, name, args: { ...args } })),
    response_metadata: responseMetadata(calls),
    usage_metadata: usage,
  });
}

export function* toChunks({ text, calls, usage }: CompleteReply): Generator<AIMessageChunk> {
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
export function estimateUsage(input: readonly string[], output: string): UsageMetadata {
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
export function summarize(messages: readonly BaseMessage[]): string | undefined {
  const prompt = messages.findLast((message) => message.type === "human");
  const instructions = messages.filter((message) => message.type === "system" || message === prompt);
  if (!instructions.some((message) => REQUEST.test(message.text))) return undefined;
  const conversation = messages.filter((message) => message !== prompt && isSaid(message));
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
  return [HEADING, ...chosen.map(shorten)].join("\n");
}

function isSaid(message: BaseMessage): boolean {
  return message.type === "human" || message.type === "ai";
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

function shorten(line: string): string {
  const characters = [...line];
  return characters.length > MAX_LINE_LENGTH ? `${characters.slice(0, MAX_LINE_LENGTH).join("")}…` : line;
}
