/**
 * A run whose input has messages that its thread has. A job engine sends them again, with the same ids: if the turn is
 * finished, nobody is asked, and if not, it continues where it was. A page sends one again with other words: they are
 * answered.
 */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { type LangGraphRunnableConfig, START } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { placeOfCall } from "../history/group.js";
import { MARKS } from "../history/marks.js";
import { unansweredCalls } from "../history/open-calls.js";
import { isResult } from "../history/result.js";
import { isUserMessage } from "../history/summary.js";
import { isRecord } from "../shared/values.js";
import { messagesAmong } from "../threads/commands.js";
import { notesOf, pageOf } from "../threads/diary.js";
import type { ExaminedCall } from "../threads/ended-runs/close-calls.js";
import { historyIn, walkBack } from "../threads/ended-runs/leftovers.js";
import { hasInput } from "../threads/ended-runs/sent-again.js";
import { hasNewInput, sendsCall } from "../threads/langgraph/read-checkpoints.js";
import { checkpointOfStep } from "../threads/langgraph/run-host.js";
import { newWords } from "../threads/new-words.js";
import { savedCheckpoints } from "../threads/saver/run-checkpoints.js";

/** What a run's input says, compared with its thread before it. */
interface ReadInput {
  /** Whether the run only sends again what its thread has. */
  readonly isSentAgain: boolean;
  /** What must be written so that the input's words are answered: see `newWords`. */
  readonly written: readonly BaseMessage[];
}

const NOTHING_ELSE: ReadInput = { isSentAgain: false, written: [] };

/**
 * Reads the run's input from its checkpoints. With the durability `exit`, the input is not saved and so not known.
 *
 * @param history The messages with the run's input. A new one is at the end, so that most runs read nothing.
 * @param mayHaveLeft Whether a run of the thread may have ended before the model had responded.
 */
export async function readInput(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  mayHaveLeft: boolean,
): Promise<ReadInput> {
  const [before, last] = [history.at(-2), history.at(-1)];
  // A user's message after another one, or after a result, can have taken the place of the response to it.
  const isUsual = last?.type === "human" && before?.type !== "human" && before?.type !== "tool";
  if (last === undefined || (isUsual && !mayHaveLeft)) return NOTHING_ELSE;
  const step = checkpointOfStep(config);
  const checkpoints =
    step === undefined ? undefined : await savedCheckpoints(config, step).catch(() => undefined);
  if (checkpoints === undefined) return NOTHING_ELSE;
  for await (const { checkpoint } of walkBack(checkpoints.begunOn, checkpoints.read)) {
    if (!hasNewInput(checkpoint)) continue;
    const input: unknown = checkpoint.checkpoint.channel_values[START];
    const stored = await historyIn(checkpoint, checkpoints);
    if (!isRecord(input) || !Array.isArray(stored)) return NOTHING_ELSE;
    const { messages: given, ...others } = input;
    const messages = messagesAmong(given);
    const words = newWords(stored, messages).messages;
    const written = words === messages ? [] : wordsToWrite(stored, messages, words, history);
    const userMessage = words.findLast(isUserMessage);
    const isNew = words.some(({ id, type }) => id === undefined || type === "remove");
    const latest = checkpoint.parentConfig && (await checkpoints.read?.(checkpoint.parentConfig));
    if (words.length === 0 || isNew || latest === undefined) return { isSentAgain: false, written };
    const keys = Object.keys(others).filter((key) => others[key] !== undefined);
    const sent = { input, messages: words, userMessageId: userMessage?.id, keys };
    return { isSentAgain: await hasInput(sent, stored, latest, checkpoints.read), written };
  }
  return NOTHING_ELSE;
}

/** The reducer has taken the input. Words under another message's id have replaced that message, which comes back. */
function wordsToWrite(
  stored: readonly BaseMessage[],
  sent: readonly BaseMessage[],
  words: readonly BaseMessage[],
  history: readonly BaseMessage[],
): readonly BaseMessage[] {
  const known = new Set(sent);
  const others = words.filter((message) => !known.has(message));
  const isMoved = others.some(({ type }) => type !== "remove");
  const now = new Map(history.map((message) => [message.id, message.type]));
  const replaced = isMoved ? stored.filter(({ id, type }) => now.get(id) !== type) : [];
  // A result goes to its call, and not to the place of the words.
  const back = replaced.flatMap((message) =>
    isResult(message) && message.id !== undefined
      ? [new RemoveMessage({ id: message.id }), message]
      : message,
  );
  return [...back, ...others];
}

/** The calls that LangChain was about to run, and that no run has started. */
export async function callsToBegin(
  calls: readonly ExaminedCall[],
  config: LangGraphRunnableConfig,
): Promise<ReadonlySet<ExaminedCall>> {
  const unstarted = new Set<ExaminedCall>();
  for (const examined of calls) {
    const { call, group, index, remains, sentAt } = examined;
    const page = sentAt === undefined ? undefined : pageOf(config, sentAt);
    if (remains !== undefined || call.kind !== "valid" || page === undefined) continue;
    const tuple = await page.saver.getTuple(page.config);
    if (tuple === undefined || !sendsCall(tuple, call.id)) continue;
    const { start, wait } = notesOf(tuple, placeOfCall(group, index));
    if (start <= wait) unstarted.add(examined);
  }
  return unstarted;
}

/** Where a turn continues. Undefined: the model is asked. */
export function nextStep(history: readonly BaseMessage[]): "tools" | "end" | undefined {
  if (unansweredCalls(history).pending.length > 0) return "tools";
  const last = history.at(-1);
  const isFinal = last !== undefined && isAIMessage(last) && callsOf(last).length === 0;
  return isFinal && last.additional_kwargs[MARKS.interrupted] === undefined ? "end" : undefined;
}
