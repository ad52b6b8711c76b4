/**
 * A run whose input the thread has already: a job engine sends it again, with the same message ids. If the turn is
 * finished, nobody is asked. If not, it goes on where it was.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { type LangGraphRunnableConfig, START } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { placeOfCall } from "../history/group.js";
import { MARKS } from "../history/marks.js";
import { unansweredCalls } from "../history/open-calls.js";
import { isUserMessage } from "../history/summary.js";
import { isRecord } from "../shared/values.js";
import { messagesAmong } from "../threads/commands.js";
import { notesOf, pageOf } from "../threads/diary.js";
import { type ExaminedCall, hasInput, historyIn, walkBack } from "../threads/ended-runs.js";
import { hasNewInput, sendsCall } from "../threads/langgraph/read-checkpoints.js";
import { checkpointOfStep } from "../threads/langgraph/run-host.js";
import { savedCheckpoints } from "../threads/saver/saved-checkpoints.js";

/**
 * Whether the run only sends again what its thread has. With the durability `exit`, the input is not saved and so not
 * known.
 *
 * @param history The messages with the run's input. A new one is at the end, so that most runs read nothing.
 */
export async function isSentAgain(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<boolean> {
  const last = history.at(-1);
  if (last === undefined || (!isAIMessage(last) && last.type !== "tool")) return false;
  const step = checkpointOfStep(config);
  const checkpoints =
    step === undefined ? undefined : await savedCheckpoints(config, step).catch(() => undefined);
  if (checkpoints === undefined) return false;
  for await (const { checkpoint } of walkBack(checkpoints.abandoned, checkpoints.read, SEARCH)) {
    if (!hasNewInput(checkpoint)) continue;
    const input: unknown = checkpoint.checkpoint.channel_values[START];
    if (!isRecord(input)) return false;
    const { messages: given, ...others } = input;
    const messages = messagesAmong(given);
    const asked = messages.findLast(isUserMessage);
    if (asked === undefined || messages.some(({ id }) => id === undefined)) return false;
    const before = checkpoint.parentConfig && (await checkpoints.read?.(checkpoint.parentConfig));
    const stored = await historyIn(checkpoint, checkpoints);
    if (before === undefined || !Array.isArray(stored)) return false;
    const keys = Object.keys(others).filter((key) => others[key] !== undefined);
    return hasInput({ input, messages, askedId: asked.id, keys }, stored, before, checkpoints.read);
  }
  return false;
}

/** Other middleware can have nodes before this one. */
const SEARCH = { fate: "continued", most: 40 } as const;

/** The calls that LangChain was about to run, and that no run has started. */
export async function callsToBegin(
  calls: readonly ExaminedCall[],
  config: LangGraphRunnableConfig,
): Promise<ReadonlySet<ExaminedCall>> {
  const unstarted = new Set<ExaminedCall>();
  for (const examined of calls) {
    const { call, group, place, remains, sentAt } = examined;
    const page = sentAt === undefined ? undefined : pageOf(config, sentAt);
    if (remains !== undefined || call.kind !== "valid" || page === undefined) continue;
    const tuple = await page.saver.getTuple(page.config);
    if (tuple === undefined || !sendsCall(tuple, call.id)) continue;
    const { start, wait } = notesOf(tuple, placeOfCall(group, place));
    if (start <= wait) unstarted.add(examined);
  }
  return unstarted;
}

/** Where a turn goes on. Undefined: the model is asked. */
export function nextStep(history: readonly BaseMessage[]): "tools" | "end" | undefined {
  if (unansweredCalls(history).pending.length > 0) return "tools";
  const last = history.at(-1);
  const isFinal = last !== undefined && isAIMessage(last) && callsOf(last).length === 0;
  return isFinal && last.additional_kwargs[MARKS.interrupted] === undefined ? "end" : undefined;
}
