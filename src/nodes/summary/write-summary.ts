import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countTextTokens } from "../../history/long-threads/count-tokens.js";
import { levelFor } from "../../history/long-threads/level-for.js";
import { sumTokens } from "../../history/long-threads/measure-input.js";
import type { SummaryPlan } from "../../history/long-threads/plan-summary.js";
import { renderTranscript } from "../../history/long-threads/render-transcript.js";
import { contentText } from "../../history/messages/content-text.js";
import { FinishHabit } from "../../providers/answer/finish-habit.js";
import { guardModel } from "../../providers/answer/guard-model.js";
import { joinChunks } from "../../providers/answer/join-chunks.js";
import type { StreamGuardOptions } from "../../providers/answer/stream-guard.js";
import { readOverflow } from "../../providers/failure/overflow.js";
import { shortenText, shortenWork, sizeOf } from "../../providers/input/bounds/shorten-message.js";
import { createUsageCounter } from "../run/count-usage.js";
import type { RunTally } from "../run/run-tally.js";
import { withDeadline } from "../run/with-deadline.js";
import { withAgentType } from "../telemetry/agent-type.js";
import type { SummaryWording } from "./summary-prompts.js";

export interface SummaryWriter {
  readonly model: BaseChatModel;
  readonly wording: SummaryWording;
  /** How many tokens of the conversation the summariser reads at a time. */
  readonly tokensPerStep: number;
  /** A longer summary is rejected, because it would leave no room for new messages. */
  readonly mostTokens: number;
  readonly timeoutMs: number;
  /** How often a response that is empty, cut off or lost is requested again. */
  readonly maxFallbackAttempts: number;
  /** The tally of the run, which counts what the summary costs. */
  readonly tally: RunTally | undefined;
}

/** LangGraph does not show the tokens of a model with this tag in the chat stream. */
const HIDDEN = ["nostream", "langsmith:nostream"];
/** LangSmith's name for a request that only shortens the context. */
const COMPACTION = "compaction";

/** How many requests a summary takes at most, unless the summariser refuses one as too long. */
const MOST_STEPS = 8;
/** How often smaller steps are tried if the summariser refuses one as too long. */
const MOST_HALVINGS = 3;
/** At least this many tokens of each message are shown. */
const LEAST_TOKENS = 40;

/** How many messages one summary can cover, so that something of each is shown. */
export function mostMessages({ tokensPerStep }: SummaryWriter): number {
  return Math.max(Math.floor((tokensPerStep * MOST_STEPS) / (LEAST_TOKENS * 2)), 1);
}

/**
 * Lets the summariser read the plan's messages, in several steps if they are long. Each step includes the summary so
 * far. If all of it would take too many steps, the longest messages are shown in part.
 *
 * @throws Error if the summariser throws, takes too long, is cut off, returns nothing, or writes a summary that is
 *   too long.
 */
export async function writeSummary(
  { summaries, lateResults, covered }: SummaryPlan,
  writer: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const { wording } = writer;
  const previous = summaries
    .map((message) => withoutHeading(contentText(message), wording.heading))
    .join("\n\n");
  const summary = await readInSteps([...lateResults, ...covered], previous, writer, config);
  const text = `${wording.heading}\n\n${summary}`;
  const length = countTextTokens(text);
  const replaced = sumTokens([...summaries, ...lateResults, ...covered]);
  if (length >= replaced)
    throw new Error(
      `the summary (${length} tokens) is not shorter than the messages that it covers (${replaced})`,
    );
  if (length > writer.mostTokens) {
    throw new Error(`the summary has ${length} tokens, more than the limit of ${writer.mostTokens}`);
  }
  return text;
}

/** Begins again with half of the step if the summariser refuses a request as too long. */
async function readInSteps(
  messages: readonly BaseMessage[],
  previous: string,
  writer: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  for (let halvings = 0, tokens = writer.tokensPerStep; ; halvings += 1, tokens /= 2) {
    try {
      let summary = previous;
      for (const piece of piecesOf(messages, Math.floor(tokens)))
        summary = await askSummariser(writer.wording.request(summary, piece), writer, config);
      return summary;
    } catch (error) {
      if (halvings === MOST_HALVINGS || readOverflow(error) === undefined) throw error;
    }
  }
}

/** The transcript in as many pieces as steps are allowed. The longest messages are shortened for it. */
function piecesOf(messages: readonly BaseMessage[], tokensPerStep: number): string[] {
  for (let room = tokensPerStep * MOST_STEPS; ; room /= 2) {
    const level = Math.max(levelFor(messages.map(sizeOf), room), LEAST_TOKENS);
    const pieces = renderTranscript(
      messages.map((message) => shortenBoth(message, level)),
      tokensPerStep,
    );
    if (pieces.length <= MOST_STEPS || level === LEAST_TOKENS) return pieces;
  }
}

function shortenBoth(message: BaseMessage, tokens: number): BaseMessage {
  if (message.type === "tool") return shortenWork(message, tokens, []);
  return shortenText(shortenWork(message, tokens, []), tokens);
}

async function askSummariser(
  request: string,
  { model, wording, timeoutMs, maxFallbackAttempts, tally }: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const messages = [new SystemMessage(wording.instructions), new HumanMessage(request)];
  const counter = createUsageCounter(model, 0, tally);
  counter.begin(sumTokens(messages));
  const guard: StreamGuardOptions = {
    wants: "whole-text",
    maxFallbackAttempts,
    habit: new FinishHabit(),
    isTaken: () => false,
    onBroken: ({ usage }) => counter.addBroken(usage),
  };
  const summariser = await guardModel(model, guard, config);
  const answer = await withDeadline(
    async (signal) =>
      joinChunks(
        await summariser.stream(messages, {
          ...config,
          signal,
          tags: [...HIDDEN, COMPACTION],
          metadata: withAgentType(config.metadata, COMPACTION),
          runName: "summarize",
        }),
      ),
    {
      signal: config.signal,
      timeoutMs,
      timeoutError: (milliseconds) => new Error(`the summariser did not respond within ${milliseconds} ms`),
    },
  );
  if (answer !== undefined) counter.addResponse(answer);
  const text = answer === undefined ? "" : withoutHeading(contentText(answer), wording.heading);
  if (text === "") throw new Error("the summariser's response has no text");
  return text;
}

function withoutHeading(text: string, heading: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith(heading) ? trimmed.slice(heading.length).trim() : trimmed;
}
