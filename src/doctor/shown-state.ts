/** Reads a thread's state as LangGraph shows it: in this process, on a server or in a file. */

import type { ThreadState } from "@langchain/langgraph-sdk";
import { coerceMessage } from "../history/read-messages.js";
import { recordsIn } from "../shared/values.js";
import { endsAfterModel } from "../threads/ended-runs/close-calls.js";
import { isOfUpdate } from "../threads/langgraph/read-checkpoints.js";
import { MESSAGES } from "../threads/langgraph/swap-channel.js";
import { isListOfMessages } from "./examine.js";
import {
  contentOf,
  type EndedRun,
  errorText,
  NOTHING_LEFT,
  type OpenTask,
  type StoredThread,
  threadOfList,
} from "./thread-store.js";

/** Older servers, and files, leave out fields. A file can hold anything. */
export type ShownState = Partial<ThreadState<unknown>>;
type ShownTask = Partial<ThreadState["tasks"][number]>;

/**
 * The thread whose latest state this is.
 *
 * @param history This state and those before it, the latest first.
 */
export function threadOfState(
  threadId: string,
  state: ShownState,
  history: readonly ShownState[] = [state],
): StoredThread {
  const { messages, ...lists } = listsIn(state.values);
  return {
    ...threadOfList([], threadId),
    checkpointId: state.checkpoint?.checkpoint_id ?? undefined,
    status: waitsForHuman(state) ? "interrupted" : "idle",
    ...lists,
    content: contentOf(messages),
    endedRuns: endedRunsOf(history),
    openTasks: openTasksOf(state),
    goesOn: !isOfUpdate(state.metadata ?? undefined) && tasksIn(state.tasks).length > 0,
  };
}

/**
 * The list of a state: `messages`, or the longest other one if that has none. A list of messages is known by its values.
 */
export function listsIn(
  state: unknown,
): { readonly messages: readonly unknown[] | undefined } & Pick<
  StoredThread,
  "channel" | "otherLists" | "values" | "otherChannels"
> {
  const { [MESSAGES]: stored, ...values } = Object(state);
  const messages = Array.isArray(stored) ? stored : undefined;
  const lists = Object.entries(values)
    .flatMap(([channel, list]) => (isListOfMessages(list) ? [{ channel, messages: list }] : []))
    .sort((one, other) => other.messages.length - one.messages.length);
  const [longest] = messages === undefined || messages.length === 0 ? lists : [];
  return {
    messages: longest?.messages ?? messages,
    channel: longest?.channel ?? MESSAGES,
    otherLists: lists.filter((list) => list !== longest),
    values,
    otherChannels: Object.keys(values),
  };
}

export function waitsForHuman({ tasks }: ShownState): boolean {
  return tasksIn(tasks).some(({ interrupts }) => recordsIn(interrupts).length > 0);
}

/** The tasks that a run of the thread would continue with. */
export function openTasksOf({
  tasks,
  next,
}: {
  readonly tasks?: unknown;
  readonly next?: unknown;
}): OpenTask[] {
  const entered = Array.isArray(next) ? new Set<unknown>(next) : undefined;
  return tasksIn(tasks)
    .filter(({ name, result }) => result == null && entered?.has(name) !== false)
    .map(({ id = "", name = "", interrupts, ...task }) => ({
      id,
      node: name,
      error: errorOf(task),
      interrupts: recordsIn(interrupts),
    }));
}

/** A step's tasks, finished or not. See `ThreadStep`. */
export function stepTasksOf(tasks: unknown) {
  return tasksIn(tasks).map((task) => ({
    node: String(task.name),
    result: task.result as unknown,
    error: errorOf(task),
  }));
}

const errorOf = ({ error }: ShownTask): string | undefined => (error == null ? undefined : errorText(error));

function tasksIn(tasks: unknown): readonly ShownTask[] {
  return recordsIn(tasks);
}

/** What a state's finished tasks wrote, in their order. */
export function resultsIn({ tasks }: ShownState): readonly Record<string, unknown>[] {
  return recordsIn(tasksIn(tasks).map(({ result }) => result));
}

export function messagesInState({ values }: ShownState) {
  const messages: unknown = Object(values)["messages"];
  return Array.isArray(messages) ? messages.flatMap((value) => coerceMessage(value) ?? []) : [];
}

/** What ended runs' finished tasks wrote, oldest first. */
function endedRunsOf(history: readonly ShownState[]): EndedRun[] {
  return history
    .flatMap((state, index): EndedRun[] => {
      // The next state has its tasks' writes, unless new input discarded them.
      const isDiscarded = history[index - 1]?.metadata?.["source"] === "input";
      const checkpointId = state.checkpoint?.checkpoint_id;
      if (checkpointId == null || (index > 0 && !isDiscarded)) return [];
      const results = resultsIn(state);
      const written = results.flatMap(({ messages }) => messages ?? []);
      const otherChannels = new Set(results.flatMap(Object.keys));
      otherChannels.delete("messages");
      const interrupts = tasksIn(state.tasks).flatMap((task) => recordsIn(task.interrupts));
      const nodes = Array.isArray(state.next) ? state.next : [];
      if (written.length + otherChannels.size + interrupts.length === 0 && !endsAfterModel(nodes)) return [];
      return [
        {
          ...NOTHING_LEFT,
          checkpointId,
          fate: index === 0 ? "pending" : "discarded",
          history: messagesInState(state),
          written,
          interrupts,
          nodes,
          otherChannels: [...otherChannels],
        },
      ];
    })
    .toReversed();
}

/** The node of deepagents that gives each open call a result. It says that the call was cancelled. */
export const OWN_PATCH = "patchToolCallsMiddleware.before_agent";

/** The node of `createAgent` that asks its model with the messages of the state. */
export const ASKING_NODE = "model_request";

/** Hooks of `createAgent` that run before its model. */
const HOOK_BEFORE = /\.before_(?:agent|model)$/;

/**
 * The nodes of a graph, as LangGraph draws it, whose code decides what its model is sent: all of a user's own graph, and
 * those on each path to the node of a LangChain agent that sends the messages of the state.
 *
 * @param asking The node that does so, if the graph has it.
 */
export function nodesBeforeModel(drawn: unknown, asking = ASKING_NODE): readonly string[] {
  const edges = recordsIn(Object(drawn).edges).map(({ source, target }) => [String(source), String(target)]);
  const nodes = [...new Set(edges.flat())].filter((node) => !node.startsWith("__"));
  if (!nodes.includes(asking)) return nodes;
  const isReachedWithout = (avoided: string): boolean => {
    const reached = new Set(["__start__"]);
    // A set also gives what is added to it meanwhile.
    for (const node of reached)
      for (const [source, target = ""] of edges)
        if (source === node && target !== avoided) reached.add(target);
    return reached.has(asking);
  };
  return nodes.filter((node) => node !== asking && !isReachedWithout(node));
}

/** The same where only the nodes that have run are known. */
export const ranBeforeModel = (ran: readonly string[]): readonly string[] =>
  ran.includes(ASKING_NODE)
    ? ran.filter((node) => HOOK_BEFORE.test(node))
    : ran.filter((node) => !node.startsWith("__"));

/** The nodes that `createAgentGraph` always has. */
const AGENT_NODES = ["patch", "summarize", "model", "approve", "tools"];

/** What repairs the threads of a graph with these nodes. */
export function repairedBy(nodes: readonly string[]): NonNullable<StoredThread["repairedBy"]> {
  if (nodes.includes("tether.before_agent")) return "middleware";
  return AGENT_NODES.every((name) => nodes.includes(name)) ? "agent" : "nobody";
}
