import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { contentText } from "../history/content-text.js";
import { countTextTokens } from "../history/count-tokens.js";
import { sumTokens } from "../history/measure-input.js";
import type { SummaryPlan } from "../history/plan-summary.js";
import { renderTranscript } from "../history/render-transcript.js";
import { toModelError } from "../providers/model-failure.js";
import type { SummaryWording } from "./summary-prompts.js";
import { withDeadline } from "./with-deadline.js";

export interface SummaryWriter {
  readonly model: BaseChatModel;
  readonly wording: SummaryWording;
  /** Of the conversation, the summariser reads so many tokens at a time. */
  readonly tokensPerStep: number;
  /** A longer summary is refused: it would leave no room for what comes. */
  readonly mostTokens: number;
  readonly timeoutMs: number;
}

/** LangGraph shows no tokens of a model with this tag in the chat stream. */
const HIDDEN = ["nostream", "langsmith:nostream"];
/** Finish reasons of an answer that was cut off, in the words of the providers. */
const CUT_OFF: ReadonlySet<unknown> = new Set([
  "length",
  "max_tokens",
  "MAX_TOKENS",
  "max_output_tokens",
  "model_length",
]);

/**
 * Has all of the plan read, in steps where it is long; each step folds in the summary so far.
 *
 * @throws Error if the summariser throws, takes too long, is cut off, answers nothing, or makes it not short enough.
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
    throw new Error(`the summary is no shorter (${length} tokens) than what it covers (${replaced})`);
  if (length > writer.mostTokens) {
    throw new Error(`the summary has ${length} tokens, more than the ${writer.mostTokens} that it may have`);
  }
  return text;
}

async function askSummariser(
  request: string,
  { model, wording, timeoutMs }: SummaryWriter,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const messages = [new SystemMessage(wording.instructions), new HumanMessage(request)];
  const answer = await withDeadline(
    (signal) =>
      model
        .invoke(messages, { ...config, signal, tags: HIDDEN, runName: "summarize" })
        .catch((error: unknown) => {
          throw toModelError(error, { model, messages, signal });
        }),
    {
      signal: config.signal,
      timeoutMs,
      timeoutError: (milliseconds) => new Error(`the summariser did not answer within ${milliseconds} ms`),
    },
  );
  if (finishReasonsOf(answer.response_metadata).some((reason) => CUT_OFF.has(reason))) {
    throw new Error("the summariser was cut off at its token limit");
  }
  const text = withoutHeading(contentText(answer).trim(), wording.heading);
  if (text === "") throw new Error("the summariser answered nothing");
  return text;
}

/** Each provider has a field of its own for it. */
function finishReasonsOf(metadata: Record<string, unknown> = {}): unknown[] {
  const { finish_reason, stop_reason, finishReason, stopReason, done_reason, incomplete_details } = metadata;
  const details =
    typeof incomplete_details === "object" && incomplete_details !== null ? incomplete_details : {};
  const incomplete = "reason" in details ? details.reason : undefined;
  return [finish_reason, stop_reason, finishReason, stopReason, done_reason, incomplete];
}

function withoutHeading(text: string, heading: string): string {
  return text.startsWith(heading) ? text.slice(heading.length).trim() : text.trim();
}
