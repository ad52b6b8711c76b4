import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countTextTokens } from "../../history/long-threads/count-tokens.js";
import { sumTokens } from "../../history/long-threads/measure-input.js";
import type { SummaryPlan } from "../../history/long-threads/plan-summary.js";
import { renderTranscript } from "../../history/long-threads/render-transcript.js";
import { contentText } from "../../history/messages/content-text.js";
import { FinishHabit } from "../../providers/answer/finish-habit.js";
import { guardModel } from "../../providers/answer/guard-model.js";
import { joinChunks } from "../../providers/answer/join-chunks.js";
import type { StreamGuardOptions } from "../../providers/answer/stream-guard.js";
import { withDeadline } from "../run/with-deadline.js";
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
}

/** LangGraph does not show the tokens of a model with this tag in the chat stream. */
const HIDDEN = ["nostream", "langsmith:nostream"];

/**
 * Lets the summariser read the plan's messages, in several steps if they are long. Each step includes the summary so
 * far.
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
  let summary = summaries
    .map((message) => withoutHeading(contentText(message), wording.heading))
    .join("\n\n");
  for (const piece of renderTranscript([...lateResults, ...covered], writer.tokensPerStep)) {
    summary = await askSummariser(wording.request(summary, piece), writer, config);
  }
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

async function askSummariser(
  request: string,
  { model, wording, timeoutMs, maxFallbackAttempts }: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const messages = [new SystemMessage(wording.instructions), new HumanMessage(request)];
  const guard: StreamGuardOptions = {
    wants: "whole-text",
    maxFallbackAttempts,
    habit: new FinishHabit(),
    isTaken: () => false,
    onBroken: () => {},
  };
  const summariser = await guardModel(model, guard, config);
  const answer = await withDeadline(
    async (signal) =>
      joinChunks(
        await summariser.stream(messages, { ...config, signal, tags: HIDDEN, runName: "summarize" }),
      ),
    {
      signal: config.signal,
      timeoutMs,
      timeoutError: (milliseconds) => new Error(`the summariser did not respond within ${milliseconds} ms`),
    },
  );
  const text = answer === undefined ? "" : withoutHeading(contentText(answer), wording.heading);
  if (text === "") throw new Error("the summariser's response has no text");
  return text;
}

function withoutHeading(text: string, heading: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith(heading) ? trimmed.slice(heading.length).trim() : trimmed;
}
