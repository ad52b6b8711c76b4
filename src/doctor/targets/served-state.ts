/** The state of a thread as a LangGraph server sends it. */

import { unansweredCalls } from "../../history/calls/open-calls.js";
import { isMadeUpResult, isPlaceholder } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { isRecord } from "../../shared/is-record.js";
import type { EndedRun, OpenTask } from "../stored-thread.js";

export interface ServedThread {
  readonly thread_id: string;
  readonly status: string;
  readonly updated_at: string;
}

export interface ServedTask {
  readonly id: string;
  readonly name: string;
  readonly error?: string | null;
  readonly interrupts?: readonly { readonly value?: unknown }[];
  /** What a finished task wrote. */
  readonly result?: unknown;
}

export interface ServedState {
  readonly values: unknown;
  readonly next?: readonly string[];
  readonly tasks?: readonly ServedTask[];
  readonly checkpoint?: { readonly checkpoint_id?: string | null } | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

/** The part of the SDK that is used. */
export interface ThreadsClient {
  search(query: object): Promise<readonly ServedThread[]>;
  get(threadId: string): Promise<ServedThread>;
  getState(threadId: string, checkpoint: undefined, options: object): Promise<ServedState>;
  getHistory(threadId: string, options: object): Promise<readonly ServedState[]>;
  updateState(
    threadId: string,
    options: object,
  ): Promise<{ checkpoint?: { checkpoint_id?: string | null } | null }>;
}

/** What reads a thread. */
export type ThreadsReader = Pick<ThreadsClient, "get" | "getState" | "getHistory">;

export function openTasksOf({ tasks = [] }: ServedState): OpenTask[] {
  return tasks
    .filter(({ result }) => result == null)
    .map(({ id, name, error, interrupts = [] }) => ({
      id,
      node: name,
      error: error ?? undefined,
      interrupts: interrupts.map(({ value }) => value),
    }));
}

export function waitsForHuman({ tasks = [] }: ServedState): boolean {
  return tasks.some(({ interrupts = [] }) => interrupts.length > 0);
}

/** Whether the history may have results that the state does not have. */
export function mayLackResults(state: ServedState): boolean {
  const messages = messagesIn(state.values);
  const { dangling, pending } = unansweredCalls(messages);
  const isStopped = (state.next ?? []).length > 0 && !waitsForHuman(state);
  return (
    isStopped ||
    dangling.length + pending.length > 0 ||
    messages.some((message) => isPlaceholder(message) || isMadeUpResult(message))
  );
}

/**
 * What the finished tasks of ended runs wrote, the oldest first.
 *
 * @param states The history, the latest state first.
 */
export function endedRunsOf(states: readonly ServedState[]): EndedRun[] {
  return states
    .flatMap((state, index): EndedRun[] => {
      // The state that follows has the writes of its tasks, unless new input discarded them.
      const isDiscarded = states[index - 1]?.metadata?.["source"] === "input";
      const checkpointId = state.checkpoint?.checkpoint_id;
      if (checkpointId == null || (index > 0 && !isDiscarded)) return [];
      const results = (state.tasks ?? []).flatMap(({ result }) => (isRecord(result) ? [result] : []));
      const written = results.flatMap((result) => [result["messages"] ?? []].flat());
      const others = results.flatMap(Object.keys).filter((name) => name !== "messages");
      if (written.length + others.length === 0) return [];
      return [
        {
          checkpointId,
          fate: index === 0 ? "pending" : "discarded",
          knownMessageIds: messagesIn(state.values).flatMap(({ id }) => id ?? []),
          written,
          otherChannels: [...new Set(others)],
        },
      ];
    })
    .toReversed();
}

function messagesIn(values: unknown) {
  const messages: unknown = Object(values)["messages"];
  return Array.isArray(messages) ? messages.flatMap((value) => coerceMessage(value) ?? []) : [];
}
