/** Counts what a provider reads of the requests of a thread: all of it, and the part that it has in its prompt cache. */

import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  type ToolMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { getEncoding } from "js-tiktoken";
import { PlayedModel, type PlayOptions, wholeChunk } from "../test/support/models.js";

/** In tokens of `o200k`, with which OpenAI counts. What is not in the cache is written to it: as far as it is marked, if the provider needs marks. */
export interface Counts {
  requests: number;
  sent: number;
  /** The longest request. */
  longest: number;
  cached: number;
  written: number;
  /** Of these, the requests for summaries, and what they responded. */
  summaries: number;
  sentForSummaries: number;
  summaryOutput: number;
}

export const noCounts = (): Counts => ({
  requests: 0,
  sent: 0,
  longest: 0,
  cached: 0,
  written: 0,
  summaries: 0,
  sentForSummaries: 0,
  summaryOutput: 0,
});

/**
 * `automatic`: the longest beginning that an earlier request of the thread has too. `marked`: the longest one that an
 * earlier request has marked, up to a mark of this request. This is how Anthropic's caching works; it looks back at most
 * twenty blocks from a mark, here twenty messages.
 */
export type Caching = "automatic" | "marked";
const LOOK_BACK = 20;

const o200k = getEncoding("o200k_base");
/** The same messages are sent again and again. */
const known = new Map<string, number>();

function tokensOf(text: string): number {
  const tokens = known.get(text) ?? o200k.encode(text, [], []).length;
  known.set(text, tokens);
  return tokens;
}

/** What OpenAI adds for the role and the separators of a message. */
const TOKENS_PER_MESSAGE = 3;

interface Part {
  readonly text: string;
  readonly isMarked: boolean;
}

/** A beginning of a request that was sent. */
class Beginning {
  readonly next = new Map<string, Beginning>();
  isWritten = false;
}

export type Respond = (messages: readonly BaseMessage[]) => AIMessage;

/** The options of a request that are counted. */
interface CountedOptions extends PlayOptions {
  readonly offered?: readonly BindToolsInput[];
  readonly cache_control?: unknown;
}

const GIST = `They spoke about several places. ${"What was found still matters. ".repeat(24)}`;
/** How an agent asks for a summary at the end of the conversation. Others ask without tools. */
const QUESTION = "Write this summary now";

/** A scripted model of one thread. */
abstract class CountingModel extends PlayedModel {
  readonly counts = noCounts();
  readonly #respond: Respond;
  readonly #window: number | undefined;
  readonly #begin = new Beginning();

  constructor(respond: Respond, window: number | undefined) {
    super();
    this.#respond = respond;
    this.#window = window;
  }

  protected abstract get caching(): Caching;

  override get profile() {
    return this.#window === undefined ? {} : { maxInputTokens: this.#window };
  }

  override bindTools(
    offered: BindToolsInput[],
    options: Partial<PlayOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, PlayOptions> {
    return this.withConfig({ ...options, offered } as never);
  }

  protected override async play(
    messages: readonly BaseMessage[],
    options: CountedOptions,
  ): Promise<readonly AIMessageChunk[]> {
    const { offered = [] } = options;
    const isSummary = offered.length === 0 || messages.at(-1)?.text.includes(QUESTION) === true;
    const parts = [...toolParts(offered), ...this.#choicePart(options), ...messageParts(messages, options)];
    const { sent, cached } = this.#count(parts, isSummary);
    const answer = isSummary ? new AIMessage(GIST) : this.#respond(messages);
    const output =
      tokensOf(answer.text) + (answer.tool_calls?.length ? tokensOf(JSON.stringify(answer.tool_calls)) : 0);
    const usage_metadata: UsageMetadata = {
      input_tokens: sent,
      output_tokens: output,
      total_tokens: sent + output,
      input_token_details: { cache_read: cached },
    };
    return [wholeChunk(Object.assign(answer, { usage_metadata }))];
  }

  /** Another tool choice makes Anthropic read all messages again. */
  #choicePart({ tool_choice }: CountedOptions): Part[] {
    return this.caching === "marked" ? [{ text: `choice ${tool_choice ?? "auto"}`, isMarked: false }] : [];
  }

  #count(parts: readonly Part[], isSummary: boolean): { readonly sent: number; readonly cached: number } {
    const isAutomatic = this.caching === "automatic";
    const lastMark = isAutomatic ? parts.length - 1 : parts.findLastIndex(({ isMarked }) => isMarked);
    const marks = parts.flatMap(({ isMarked }, index) => (isAutomatic || isMarked ? [index] : []));
    let known: Beginning | undefined = this.#begin;
    let cachedParts = 0;
    for (const [index, { text }] of parts.entries()) {
      known = known?.next.get(text);
      if (known === undefined) break;
      const isInReach = marks.some((mark) => index <= mark && index > mark - LOOK_BACK);
      if (isAutomatic || (known.isWritten && isInReach)) cachedParts = index + 1;
    }
    let beginning = this.#begin;
    for (const [index, { text, isMarked }] of parts.entries()) {
      const next = beginning.next.get(text) ?? new Beginning();
      beginning.next.set(text, next);
      next.isWritten ||= isMarked && index <= lastMark;
      beginning = next;
    }
    const sum = (some: readonly Part[]) =>
      some.reduce((total, { text }) => total + tokensOf(text) + TOKENS_PER_MESSAGE, 0);
    const { counts } = this;
    const sent = sum(parts);
    counts.requests += 1;
    counts.sent += sent;
    counts.longest = Math.max(counts.longest, sent);
    const cached = sum(parts.slice(0, cachedParts));
    counts.cached += cached;
    counts.written += sum(parts.slice(cachedParts, lastMark + 1));
    if (isSummary) {
      counts.summaries += 1;
      counts.sentForSummaries += sent;
      counts.summaryOutput += tokensOf(GIST);
    }
    return { sent, cached };
  }
}

/** Agents tell by the name of a client what its provider is. */
class OpenAIModel extends CountingModel {
  protected override get caching() {
    return "automatic" as const;
  }
  override getName(): string {
    return "ChatOpenAI";
  }
  override _llmType(): string {
    return "openai";
  }
}

class AnthropicModel extends CountingModel {
  protected override get caching() {
    return "marked" as const;
  }
  override getName(): string {
    return "ChatAnthropic";
  }
  override _llmType(): string {
    return "anthropic";
  }
}

export type { CountingModel };

/** @param window What the model states as its window. */
export function createCountingModel(
  caching: Caching,
  respond: Respond,
  window: number | undefined,
): CountingModel {
  const Model = caching === "marked" ? AnthropicModel : OpenAIModel;
  return new Model(respond, window);
}

const hasMark = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "cache_control" in value;

function toolParts(tools: readonly BindToolsInput[]): Part[] {
  return tools.map((tool) => ({
    text: JSON.stringify(convertToOpenAITool(tool)),
    isMarked: hasMark(tool) || hasMark(Reflect.get(tool, "extras")),
  }));
}

/** As a provider gets them. The client puts the mark of the request behind its last message. */
function messageParts(messages: readonly BaseMessage[], { cache_control }: CountedOptions): Part[] {
  return messages.map((message, index) => {
    const { content, type } = message;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const isText = (block: object): block is { text: string } => "text" in block;
    const texts = blocks.map((block) => (isText(block) ? block.text : JSON.stringify(block)));
    const calls = (message as AIMessage).tool_calls?.map(({ id, name, args }) => ({ id, name, args })) ?? [];
    const ids = [(message as ToolMessage).tool_call_id ?? [], calls.length === 0 ? [] : calls].flat();
    return {
      text: `${type}\n${texts.join("\n")}${ids.length === 0 ? "" : JSON.stringify(ids)}`,
      isMarked: blocks.some(hasMark) || (cache_control !== undefined && index === messages.length - 1),
    };
  });
}
