/** The state of a thread as a LangGraph server sends it. */

import { unansweredCalls } from "../../history/calls/open-calls.js";
import { isMadeUpResult, isPlaceholder } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { isRecord } from "../../shared/is-record.js";
import { recordsIn } from "../../shared/records-in.js";
import type { EndedRun, OpenTask } from "../stored-thread.js";

export interface ServedThread {
  readonly thread_id: string;
  readonly status: string;
  readonly updated_at: string;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
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

/** The part that tells the nodes of a graph. */
export interface AssistantsClient {
  getGraph(graphId: string): Promise<unknown>;
}

/** What reads a thread. */
export type ThreadsReader = Pick<ThreadsClient, "get" | "getState" | "getHistory">;

/** The status of the response that an error of the SDK is about; undefined for another error. */
export const statusCodeOf = (error: unknown): unknown => Object(error).status;

export function openTasksOf(state: ServedState): OpenTask[] {
  return tasksIn(state)
    .filter(({ result }) => result == null)
    .map((task) => ({
      id: task.id,
      node: task.name,
      error: task.error ?? undefined,
      interrupts: recordsIn(task.interrupts).map(({ value }) => value),
    }));
}

export function waitsForHuman(state: ServedState): boolean {
  return tasksIn(state).some(({ interrupts }) => Array.isArray(interrupts) && interrupts.length > 0);
}

/** A file can have anything. */
function tasksIn({ tasks }: ServedState): readonly ServedTask[] {
  return recordsIn(tasks) as unknown as readonly ServedTask[];
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
      const results = tasksIn(state).flatMap(({ result }) => (isRecord(result) ? [result] : []));
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

/**
 * What finished tasks of a state wrote to other keys than `messages`. A key that several of them wrote is left out,
 * because one update cannot repeat what its reducer made of them.
 */
export function otherWritesOf(state: ServedState): Record<string, unknown> {
  const written = tasksIn(state)
    .flatMap(({ result }) => (isRecord(result) ? Object.entries(result) : []))
    .filter(([name]) => name !== "messages");
  const names = written.map(([name]) => name);
  return Object.fromEntries(written.filter(([name]) => names.indexOf(name) === names.lastIndexOf(name)));
}

/**
 * A message as it is sent, so that the server sends it back with the same bytes. LangChain gives a message without invalid
 * calls an empty list of them, after its calls. A list that is sent comes before them.
 */
export function asSent(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { invalid_tool_calls, ...rest } = message;
  const names = Object.keys(message);
  const isAfter = names.indexOf("tool_calls") < names.indexOf("invalid_tool_calls");
  return isAfter && Array.isArray(invalid_tool_calls) && invalid_tool_calls.length === 0 ? rest : message;
}

function messagesIn(values: unknown) {
  const messages: unknown = Object(values)["messages"];
  return Array.isArray(messages) ? messages.flatMap((value) => coerceMessage(value) ?? []) : [];
}
