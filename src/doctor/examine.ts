/** What is wrong with a thread's messages. The report and the plan come from the same examination. */

import { type AIMessage, BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { type Call, callBlockOf, isAIMessage } from "../history/call.js";
import { type Group, groupMessages, placeOfCall } from "../history/group.js";
import { copyMessage, deriveId, isDerivedId } from "../history/message.js";
import { issueOfShape, repairMessage, type ShapeIssue } from "../history/message-shape.js";
import type { UnansweredCall } from "../history/open-calls.js";
import { convertMessage, listOf } from "../history/read-messages.js";
import { callIdOf, isPlaceholder, isResult } from "../history/result.js";
import { DEPTH_DEMAND, isSerializedForm, storageDemand } from "../history/storable.js";
import { safely } from "../shared/json.js";
import { isRecord, recordsIn, textIn } from "../shared/values.js";
import { messagesAmong } from "../threads/commands.js";
import { type RecoveredCall, recover } from "../threads/ended-runs/recover.js";
import { type StoredThread, storedListOf, withoutUndefined } from "./thread-store.js";

/** A call that no tool has answered. One without a result is left open, because the caller may still answer it. */
export interface OpenCall extends Omit<RecoveredCall, "remains"> {
  /** The result that its tool returned, found beside the state; undefined if there is none. */
  readonly recovered: ToolMessage | undefined;
  /** A result that somebody wrote in place of the real one. Only a recovered result replaces it. */
  readonly standIn: ToolMessage | undefined;
}

export interface Examination {
  readonly list: ReadList;
  readonly groups: readonly Group[];
  readonly openCalls: readonly OpenCall[];
  readonly unsentCalls: readonly UnsentCall[];
  readonly orphans: readonly ToolMessage[];
  readonly duplicates: readonly ToolMessage[];
  /** Results that are not at the call that they answer. */
  readonly misplaced: ReadonlySet<ToolMessage>;
  /** Results that runs left and that answer no call in the list. */
  readonly unplaced: readonly ToolMessage[];
}

/** The key of the state in which LangChain's agents store a structured response. */
export const STRUCTURED_RESPONSE = "structuredResponse";

/** @param values The stored list. */
export function examineThread(
  thread: StoredThread,
  values: readonly unknown[],
  { closeOpenCalls = false }: { readonly closeOpenCalls?: boolean | undefined } = {},
): Examination {
  const list = readList(values);
  const messages = list.messages.map(({ message }) => message);
  const { groups, orphans, duplicates } = groupMessages(messages);
  const runs = leftoversOf(thread);
  // A summary can also stand for calls. Their results come late, and nobody waits for them.
  const told = new Set(messages.flatMap(toldResults));
  const open = groups
    .filter(({ head }) => isAIMessage(head))
    .flatMap((group) =>
      group.calls.flatMap((call, index) => {
        const result = group.results[index];
        if (call.kind === "answered" || (result === undefined && told.has(call.id))) return [];
        if (result !== undefined && !isPlaceholder(result)) return [];
        return [{ group, call, index, standIn: result }];
      }),
    );
  const forCaller = closeOpenCalls ? undefined : groupForCaller(groups, thread);
  const { calls } = recover(
    messages,
    { runs },
    {
      putsBack: "none",
      asksAtOnce: false,
      calls: open,
      wasCut: hasOpenTasks(thread),
      // A run whose result was found did not end on purpose.
      closed: (all) => {
        const cut = new Set(all.flatMap(({ group, remains }) => (remains?.kind === "result" ? group : [])));
        return all.filter(({ group }) => group !== forCaller || cut.has(group));
      },
    },
  );
  const used = new Set(calls.flatMap(({ remains }) => (remains?.kind === "result" ? remains.result : [])));
  const openCalls = calls.flatMap(({ remains, ...call }, index): OpenCall[] => {
    const recovered = remains?.kind === "result" ? call.result && withId(call.result, call) : undefined;
    const standIn = open[index]?.standIn;
    if (standIn !== undefined && recovered === undefined) return [];
    return [{ ...call, recovered, standIn, result: recovered ?? call.result }];
  });
  const known = new Set(messages.map(({ id }) => id));
  const listed = new Set(messages.filter(isResult).map(describe));
  const unplaced = runs
    .flatMap(({ written }) => written.filter(isResult))
    .filter(
      (result) =>
        !used.has(result) && !isPlaceholder(result) && !known.has(result.id) && !listed.has(describe(result)),
    );
  return {
    list,
    groups,
    openCalls,
    // A message that must be repaired gets usable calls anyway.
    unsentCalls: unsentCallsIn(groups).filter(
      ({ group }) => list.byMessage.get(group.head)?.issue === undefined,
    ),
    orphans,
    duplicates,
    misplaced: misplacedIn(groups),
    unplaced,
  };
}

/** The ids of calls whose results are blocks of a user message, as in Anthropic's own API. */
function toldResults({ type, content }: BaseMessage): string[] {
  if (type !== "human") return [];
  return recordsIn(content).flatMap((block) =>
    block["type"] === "tool_result" ? (textIn(block, "tool_use_id") ?? []) : [],
  );
}

/** A tool writes no id. The reducer gives one when a result enters the thread. */
function withId(result: ToolMessage, { group, index }: Pick<UnansweredCall, "group" | "index">): ToolMessage {
  return copyMessage(result, { id: result.id || deriveId(result, placeOfCall(group, index)) });
}

/** What ended runs left, as the next run reads it. */
export function leftoversOf({ endedRuns }: StoredThread) {
  return endedRuns.map(({ history, written, noted = new Map(), ...run }) => ({
    ...run,
    noted,
    history: messagesAmong(history),
    written: messagesAmong(written),
  }));
}

/**
 * The group with whose calls the run ended on purpose: its graph has nothing left to do, and no call of the group was
 * answered. The graph's client may be about to send their results.
 */
function groupForCaller(groups: readonly Group[], thread: StoredThread): Group | undefined {
  // A graph that cannot read its thread shows no tasks, although the thread has some.
  if (thread.content.kind === "bricked") return undefined;
  if (thread.openTasks === undefined || hasOpenTasks(thread)) return undefined;
  if (thread.otherChannels.includes(STRUCTURED_RESPONSE)) return undefined;
  const last = groups.at(-1);
  return last?.results.every((result) => result === undefined) ? last : undefined;
}

function hasOpenTasks({ openTasks = [] }: StoredThread): boolean {
  return openTasks.length > 0;
}

/** A run's result can also reach the list another way, with another id. */
function describe(result: ToolMessage): string {
  return JSON.stringify([callIdOf(result), result.content]);
}

/**
 * Results directly after the message with their calls are in place in any order. LangGraph's delta channel has them in
 * the order in which their tools ended, and no provider is known to mind.
 */
function misplacedIn(groups: readonly Group[]): ReadonlySet<ToolMessage> {
  const misplaced = groups.flatMap(({ results, answeredAt }, index) => {
    const next = groups[index + 1]?.start ?? Number.POSITIVE_INFINITY;
    return results.flatMap((result, position) =>
      result !== undefined && (answeredAt[position] ?? 0) > next ? [result] : [],
    );
  });
  return new Set(misplaced);
}

/*
 * Reads a stored list as messages, and remembers what each of them was stored as.
 */

/** A message of a stored list. */
interface ReadMessage {
  readonly message: BaseMessage;
  /** The value in the list. A repair writes it back as it is, unless the message had to be repaired. */
  readonly value: unknown;
  readonly index: number;
  /** What is wrong with its shape; undefined for a sound message. Then `message` is the repaired one. */
  readonly issue: ShapeIssue | undefined;
}

interface ReadList {
  readonly messages: readonly ReadMessage[];
  /** Values that are not messages, and removals, which are not to be stored. */
  readonly foreign: readonly { readonly value: unknown; readonly index: number }[];
  readonly byMessage: ReadonlyMap<BaseMessage, ReadMessage>;
}

export function readList(values: readonly unknown[]): ReadList {
  const messages: ReadMessage[] = [];
  const foreign: { readonly value: unknown; readonly index: number }[] = [];
  const byMessage = new Map<BaseMessage, ReadMessage>();
  for (const [index, value] of values.entries()) {
    const converted = convertMessage(isSerializedForm(value) ? withoutUndefined(value) : value);
    if (converted === undefined || RemoveMessage.isInstance(converted)) {
      foreign.push({ value, index });
      continue;
    }
    const issue = issueOf(converted);
    const repaired = issue === undefined ? converted : repairMessage(converted);
    // A list can hold one instance twice. Here each counts as its own message.
    const message = byMessage.has(repaired) ? copyMessage<BaseMessage>(repaired, {}) : repaired;
    const read = { message, value, index, issue };
    messages.push(read);
    byMessage.set(message, read);
  }
  return { messages, foreign, byMessage };
}

/**
 * Whether the list has values, but no LangChain message. In a bare list, messages can also have the form of chat
 * completions.
 */
export function isOfOthers(thread: StoredThread): boolean {
  const values = storedListOf(thread) ?? [];
  const isChat = (value: unknown) =>
    thread.openTasks === undefined && !isOfOtherApi(value) && convertMessage(value) !== undefined;
  return values.length > 0 && !values.some((value) => isOfLangChain(value) || isChat(value));
}

/** Whether these are messages of LangChain, and nothing else. */
export function isListOfMessages(value: unknown): value is readonly unknown[] {
  const isOne = (one: unknown) =>
    isOfLangChain(one) && (BaseMessage.isInstance(one) || isSerializedForm(one) || "content" in Object(one));
  return Array.isArray(value) && value.length > 0 && value.every(isOne);
}

export const OF_OTHERS =
  "The list has no message of LangChain, but values of another kind. They were not judged, and are never changed.";

/** LangChain's message types. A request to a provider has roles instead. */
const TYPES: ReadonlySet<unknown> = new Set([
  "human",
  "ai",
  "system",
  "tool",
  "function",
  "generic",
  "developer",
  "remove",
]);

function isOfLangChain(value: unknown): boolean {
  if (BaseMessage.isInstance(value) || isSerializedForm(value)) return true;
  if (!isRecord(value)) return false;
  const type = safely(() => value["type"]);
  return TYPES.has(typeof type === "string" ? type.replace(/MessageChunk$/, "").toLowerCase() : type);
}

/** Blocks that Anthropic's Messages API and OpenAI's Responses API have in place of calls, results and texts. */
const FOREIGN_BLOCKS: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_result",
  "input_text",
  "output_text",
]);

/** Whether LangChain would read a message in the form of another API, and lose what it says. */
export function isOfOtherApi(value: unknown): boolean {
  if (!isRecord(value) || typeof value["role"] !== "string" || BaseMessage.isInstance(value)) return false;
  const { content, parts, tool_calls, type, lc } = value;
  if (lc !== undefined || (type !== undefined && type !== "message")) return false;
  const isUnread = recordsIn(content).some((block) => FOREIGN_BLOCKS.has(block["type"]));
  return parts !== undefined || (isUnread && listOf(tool_calls).length === 0);
}

/** What a store returned can be stored, unless it is nested too deep to be read back. */
function issueOf(message: BaseMessage): ShapeIssue | undefined {
  const issue = issueOfShape(message);
  const isOfStorage = issue !== undefined && storageDemand(issue.value) === issue.expectation;
  return isOfStorage && issue.expectation !== DEPTH_DEMAND ? undefined : issue;
}

/** What the list stores for a message: the original, unless it had to be repaired. */
export function storedValueOf(message: BaseMessage, { byMessage }: ReadList): unknown {
  const read = byMessage.get(message);
  return read === undefined || read.issue !== undefined ? message : read.value;
}

/*
 * Finds calls with a result that LangChain's clients do not send, or send as they are.
 */

/** A call with a result whose arguments could not be parsed. */
interface UnsentCall {
  readonly group: Group;
  readonly call: Call;
  /**
   * Whether clients send it as the provider wrote it, with arguments that are not JSON. Otherwise they send no call.
   */
  readonly isSentRaw: boolean;
}

/**
 * Clients send invalid calls' results, but not the calls. Our own agents change the request: they store such a result
 * with a derived id, or as a placeholder.
 */
function unsentCallsIn(groups: readonly Group[]): UnsentCall[] {
  return groups.flatMap((group) => {
    const { head, calls, results } = group;
    if (!isAIMessage(head) || !calls.some(({ kind }) => kind === "invalid") || isSentAsItems(head)) return [];
    const blocks = new Set(recordsIn(head.content).map((block) => callBlockOf(block)?.id));
    const raw = new Set(recordsIn(head.additional_kwargs?.["tool_calls"]).map(({ id }) => id));
    return calls.flatMap((call, index) => {
      const result = results[index];
      if (call.kind !== "invalid" || result === undefined || isPlaceholder(result) || isDerivedId(result.id))
        return [];
      return blocks.has(call.id)
        ? []
        : [{ group, call, isSentRaw: raw.has(call.id) && !head.tool_calls?.length }];
    });
  });
}

/** With the items of the stored response, which have all its calls. */
function isSentAsItems({ response_metadata }: AIMessage): boolean {
  return Array.isArray(Reflect.get(response_metadata ?? {}, "output"));
}

/** The id of a stored value that may be a message, in whatever form it is. */
export function idIn(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  const id: unknown = Reflect.get(value, "id");
  if (typeof id === "string" && id !== "") return id;
  const inner: unknown = value["kwargs"] ?? value["data"];
  return isRecord(inner) ? idIn(inner) : undefined;
}
