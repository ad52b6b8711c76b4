/**
 * Results of tools that ended after their run was aborted. Nobody waits for them then, so they wait for the next run of
 * their thread: in the thread's inbox in the store, or without a store in this process. There each of them takes the
 * place of its call's placeholder.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { callsOf } from "../../history/call.js";
import { groupMessages } from "../../history/group.js";
import { MARKS, withoutMarks } from "../../history/marks.js";
import { copyMessage, toPlain } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { publishRepairs } from "../../history/reducer/paired-messages.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import {
  callIdOf,
  isPlaceholder,
  isResult,
  markRecoveredResult,
  type PlaceholderCause,
} from "../../history/result.js";
import { archiveOf } from "../../history/summary.js";
import { hashText, toJson } from "../../shared/json.js";
import { isRecord, madeOnce, recordsIn } from "../../shared/values.js";
import { answered } from "../../shared/waiting.js";
import { emitEvent, publishEvent } from "../events.js";
import { type InboxStore, putResult, readResults, removeResults } from "../inbox.js";
import { originalOf } from "../langgraph/replace-methods.js";

/** A result and the place of its call: the id of the message, and the index of the call in it. */
export interface LateResult {
  readonly place: string;
  readonly result: ToolMessage;
  /** What the tool wrote to own keys of the state, in order. */
  readonly values: readonly Readonly<Record<string, unknown>>[];
}

/** Where late results of one thread wait. */
export type LateResults = ReturnType<typeof lateResultsOf>;

interface LateThread {
  readonly saver: BaseCheckpointSaver;
  readonly threadId: string | number;
  /** The namespace of the graph's checkpoints. It is empty unless the graph is inside another one. */
  readonly namespace: string;
  readonly store: InboxStore | undefined;
  /** Whether the run begins on a checkpoint that its caller names. What has no place in its branch can have one in another. */
  readonly namesCheckpoint: boolean;
}

/** More of them wait in no process. The oldest one is given up: the event `result-late` has told it. */
const MOST_WAITING = 1_000;

/** The results that wait in this process, by the saver of their threads. */
const waitingIn = new WeakMap<object, Map<string, LateResult>>();

export function lateResultsOf({ saver, threadId, namespace, store, namesCheckpoint }: LateThread) {
  const waiting = madeOnce(waitingIn, originalOf(saver), () => new Map<string, LateResult>());
  const prefix = `${toJson([String(threadId), namespace])}\n`;
  const keyOf = ({ place }: LateResult): string => hashText(`${namespace}\n${place}`);
  const inbox = typeof threadId === "string" ? store : undefined;
  let looking: Promise<boolean> | undefined;
  /** Results that come together look once: a checkpointer may read all messages for it. */
  const exists = (): Promise<boolean> => {
    const configurable = { thread_id: threadId, checkpoint_ns: namespace };
    looking ??= answered(saver.getTuple({ configurable }), { what: "The checkpointer" })
      .then(
        (tuple) => tuple !== undefined,
        () => true,
      )
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  return {
    namesCheckpoint,
    /** Contract: whether the thread has a checkpoint. Never rejects. */
    exists,
    /**
     * Contract: never rejects.
     *
     * @param wasThere Whether the thread had a checkpoint when its run was aborted. A new one may have none before the run
     * has ended.
     */
    async deliver(late: LateResult, wasThere: boolean): Promise<void> {
      // A thread that was deleted has no next run.
      if (wasThere && !(await exists())) return;
      try {
        if (inbox === undefined) throw new Error("There is no store.");
        const { place, result, values } = late;
        const value = { namespace, place, message: { ...toPlain(result) }, values };
        await answered(putResult(inbox, String(threadId), keyOf(late), value), { what: "The store" });
      } catch {
        waiting.set(prefix + late.place, late);
        const [oldest = ""] = waiting.keys();
        if (waiting.size > MOST_WAITING) waiting.delete(oldest);
      }
    },
    /** @param searches Whether the store is read too. */
    async read(searches: boolean): Promise<readonly LateResult[]> {
      const own = [...waiting].flatMap(([key, late]) => (key.startsWith(prefix) ? [late] : []));
      const values = inbox === undefined || !searches ? [] : await readResults(inbox, String(threadId));
      return [...own, ...values.flatMap((value) => readLate(value, namespace))];
    },
    /** Contract: forgets results that are in the thread, or have no place there. Never rejects. */
    async remove(late: readonly LateResult[]): Promise<void> {
      // Another branch can have the call too.
      if (namesCheckpoint) return;
      for (const { place } of late) waiting.delete(prefix + place);
      if (inbox !== undefined) await removeResults(inbox, String(threadId), late.map(keyOf));
    },
  };
}

function readLate(value: unknown, own: string): readonly LateResult[] {
  const { namespace, place, message, values } = isRecord(value) ? value : {};
  const result = coerceMessage(message);
  const isSound = namespace === own && typeof place === "string" && result !== undefined;
  return isSound && isResult(result)
    ? [{ place, result: withoutMarks(result), values: recordsIn(values) }]
    : [];
}

/** Delivers a result when it comes. An event tells it, in case that no run of the thread follows. Never rejects. */
export function awaitLate(
  place: string,
  coming: Promise<Pick<LateResult, "values"> & { readonly result: ToolMessage | undefined }>,
  late: LateResults | undefined,
  threadId: unknown,
): Promise<void> {
  const deliver = async (): Promise<void> => {
    const looked = late?.exists();
    const { result, values } = await coming;
    if (result === undefined || isPlaceholder(result)) return;
    publishEvent({
      type: "result-late",
      tool: result.name ?? "",
      callId: callIdOf(result),
      threadId: threadId === undefined ? undefined : String(threadId),
      message: toPlain(result),
    });
    await late?.deliver({ place, result, values }, (await looked) ?? true);
  };
  // What ends with the abort has nothing to tell.
  return deliver().catch(() => {});
}

/** Late results on their way into the thread, and the messages that they become there. */
interface TakenResults extends Pick<LateResult, "values"> {
  readonly messages: readonly BaseMessage[];
  /** To be removed when the messages are saved. What a run that dies has not saved is taken again. */
  readonly taken: readonly LateResult[];
}

/**
 * Takes the late results that the history has a place for. The others are forgotten, and an event has those that no call
 * asks for. The store is only read if the history has a call without a result of its tool.
 */
export async function takeLateResults(
  messages: readonly BaseMessage[],
  late: Pick<LateResults, "read" | "remove" | "namesCheckpoint">,
  config: RunnableConfig,
): Promise<TakenResults> {
  const done: LateResult[] = [];
  const taken: LateResult[] = [];
  const written: BaseMessage[] = [];
  for (const one of lateInCallOrder(await late.read(messages.some(mayHoldPlace)), messages)) {
    const { result } = one;
    const message = placed(one, messages);
    if (message === "answered") done.push(one);
    else if (message !== undefined) {
      taken.push(one);
      written.push(message);
      emitEvent(config, { type: "result-recovered", tool: result.name ?? "", callId: callIdOf(result) });
    } else if (!late.namesCheckpoint) {
      done.push(one);
      emitEvent(config, { type: "result-dropped", callId: callIdOf(result), message: toPlain(result) });
    }
  }
  if (done.length > 0) await late.remove(done);
  return { messages: written, taken, values: taken.flatMap(({ values }) => values) };
}

/** Several calls can write to one key, and LangGraph applies the writes of a step in the order of its calls. */
function lateInCallOrder(
  late: readonly LateResult[],
  messages: readonly BaseMessage[],
): readonly LateResult[] {
  if (late.length < 2) return late;
  const positions = new Map(messages.map(({ id }, index) => [id, index]));
  const orderOf = ({ place }: LateResult) => {
    const { messageId, index } = splitPlace(place);
    return { message: positions.get(messageId) ?? messages.length, index };
  };
  return late.toSorted((one, other) => {
    const [first, second] = [orderOf(one), orderOf(other)];
    return first.message - second.message || first.index - second.index;
  });
}

function splitPlace(place: string): { readonly messageId: string; readonly index: number } {
  const end = place.lastIndexOf(":");
  return { messageId: place.slice(0, end), index: Number(place.slice(end + 1)) };
}

/** Placeholders of calls whose tools have ended, or were never run. No late result comes for them. */
const DECIDED: ReadonlySet<unknown> = new Set<PlaceholderCause>(["invalid-arguments", "timed-out", "failed"]);

/** A summary can have archived calls without results. A result that was recovered may still wait, and is forgotten then. */
function mayHoldPlace(message: BaseMessage): boolean {
  const { [MARKS.placeholder]: cause, [MARKS.recovered]: recovered } = message.additional_kwargs ?? {};
  if (isResult(message)) return recovered !== undefined || (isPlaceholder(message) && !DECIDED.has(cause));
  return archiveOf(message) !== undefined;
}

/** The message that answers the call. Undefined if there is no such call. */
function placed(
  { place, result }: LateResult,
  messages: readonly BaseMessage[],
): ToolMessage | "answered" | undefined {
  const { messageId, index } = splitPlace(place);
  const start = messages.findLastIndex(({ id }) => id === messageId);
  const marked = markRecoveredResult(result);
  if (start < 0) {
    // A summary can have archived the call.
    const { messages: after, repairs } = reduceMessages(messages, [marked]);
    if (after.length > messages.length) return marked;
    const isKnown = messages.some(({ id }) => id === result.id);
    publishRepairs(repairs.filter(({ kind }) => kind === "orphan-refused"));
    return isKnown ? "answered" : undefined;
  }
  const next = messages.findIndex((message, at) => at > start && !isResult(message));
  const { groups } = groupMessages(messages.slice(start, next < 0 ? undefined : next), callsOf);
  const call = groups[0]?.calls[index];
  // A client may have replaced the message since.
  if (call?.id !== callIdOf(result)) return undefined;
  const former = groups[0]?.results[index];
  if (former !== undefined && !isPlaceholder(former)) return "answered";
  // With its id, the result replaces the placeholder, also if another call has the same id.
  return former?.id === undefined ? marked : copyMessage(marked, { id: former.id });
}
