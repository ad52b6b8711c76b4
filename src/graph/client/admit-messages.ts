/**
 * Refuses results that a client writes for calls of this graph. Such a call waits for approval, or a task runs it or
 * will run it, so its result is not the client's to give.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { type Command, isCommand, type StateSnapshot } from "@langchain/langgraph";
import { InvalidCommandError, InvalidMessageError } from "../../errors.js";
import { type UnansweredCall, unansweredCalls } from "../../history/calls/open-calls.js";
import { callsOf } from "../../history/messages/call.js";
import { REMOVE_ALL_MESSAGES } from "../../history/messages/remove-all-messages.js";
import type { Repair } from "../../history/messages/repair.js";
import { callIdOf, isMadeUpResult, isResult } from "../../history/messages/result.js";
import { storageDemand } from "../../history/reading/storable.js";
import { hasMessage } from "../../history/reducer/normalize-history.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import type { AgentEvent } from "../../nodes/run/agent-event.js";
import { type ArchiveReader, isArchived } from "../../nodes/summary/archive.js";
import { findReturned, type Returned } from "../../nodes/summary/returned-messages.js";
import { messagesOfCommand } from "../../nodes/tools/command-with-messages.js";
import { isRecord } from "../../shared/is-record.js";
import { withSoundMessages } from "../run-input.js";
import { type MessageRules, readClientMessages } from "./client-messages.js";

/** What the graph lets clients do. */
export interface ClientRules extends MessageRules {
  /** Whether this graph runs the calls of the tool, and not the caller of the run. */
  readonly runsTool: (name: string) => boolean;
}

/** Contract: reads the state that the input or the update will change. Only called if it has a tool result. */
export type ReadThread = () => Promise<StateSnapshot>;

export interface AdmittedInput {
  readonly input: unknown;
  /** What was changed, for the client. */
  readonly events: readonly AgentEvent[];
}

/** The archive of the thread, if the graph archives what summaries cover. */
export interface ThreadArchive {
  readonly store: ArchiveReader;
  readonly threadId: string;
}

/**
 * The input of a run with sound messages. Results of calls that this graph answers are left out, and so is what a summary
 * has archived: a client that sends its whole list with each run would bring it back.
 *
 * @throws InvalidMessageError for a message that is malformed, and InvalidCommandError for a decision that no
 * checkpoint can store.
 */
export async function admitInput(
  input: unknown,
  rules: ClientRules,
  readThread: ReadThread | undefined,
  archive: ThreadArchive | undefined,
): Promise<AdmittedInput> {
  if (isCommand(input)) assertDecision(input);
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  if (given === undefined) return { input, events: [] };
  const { messages, repairs } = readClientMessages(given, rules);
  const refused = await findRefused(messages, rules, readThread);
  const returned = await findArchived(messages, readThread, archive);
  const events: AgentEvent[] = [
    ...returned.events,
    ...repairs.map(({ by }) => ({ type: "role-changed" as const, messageId: by.id })),
    ...[...refused.values()].map(({ call }) => ({
      type: "result-refused" as const,
      tool: call.name,
      callId: call.id,
    })),
  ];
  return {
    input: withSoundMessages(
      input,
      messages.filter((message) => !refused.has(message) && !returned.messages.has(message)),
    ),
    events,
  };
}

async function findArchived(
  messages: readonly BaseMessage[],
  readThread: ReadThread | undefined,
  archive: ThreadArchive | undefined,
): Promise<Returned> {
  if (archive !== undefined && readThread !== undefined) {
    const { store, threadId } = archive;
    // Most clients send only new messages. The thread is not read for them.
    const known = await Promise.all(messages.map(({ id }) => id && isArchived(store, threadId, id)));
    if (known.includes(true)) {
      const { values } = await readThread();
      const removals = messages.filter(({ type }) => type === "remove");
      const history = reduceMessages(values.messages, removals).messages;
      const given = messages.filter(({ id = "" }) => !hasMessage(history, id));
      return findReturned(given, history, store, threadId);
    }
  }
  return { messages: new Set(), events: [] };
}

/**
 * Makes the reader of the messages in an update of the state, and a check to run before the update is made.
 *
 * @param publish Gets what was changed.
 */
export function admitUpdates(rules: ClientRules, publish: (repairs: readonly Repair[]) => void) {
  const admitted: BaseMessage[] = [];
  return {
    /** @throws InvalidMessageError for a message that is malformed. */
    read: (given: unknown): readonly BaseMessage[] => {
      const { messages, repairs } = readClientMessages(given, rules);
      publish(repairs);
      admitted.push(...messages);
      return messages;
    },
    /** @throws InvalidMessageError that names a call whose result is not the client's to give. */
    assertOwnResults: async (readThread: ReadThread): Promise<void> => {
      for (const [message, { call }] of await findRefused(admitted, rules, readThread)) {
        const hint = ` The call of \`${call.name}\` (${call.id}) waits for approval or for its tool: resume the run with a decision, or send a message.`;
        throw new InvalidMessageError(
          "messages",
          message,
          "messages without a result of a call that this graph answers",
          hint,
        );
      }
    },
  };
}

function assertDecision({ resume }: Command): void {
  const demand = storageDemand(resume);
  if (demand !== undefined) throw new InvalidCommandError(`Expected \`resume\` to be ${demand}.`);
}

type Refused = ReadonlyMap<BaseMessage, UnansweredCall>;

async function findRefused(
  messages: readonly BaseMessage[],
  { runsTool }: ClientRules,
  readThread: ReadThread | undefined,
): Promise<Refused> {
  if (readThread === undefined || !messages.some(isClaim)) return new Map();
  const { next, values } = await readThread();
  // Tasks of these nodes answer the calls. A thread without them waits for its caller.
  if (!next.some((node) => node === "tools" || node === "approve")) return new Map();
  const history: unknown = values.messages;
  const { pending } = unansweredCalls(Array.isArray(history) ? history : []);
  return claimsOf(
    messages,
    pending.filter(({ call }) => runsTool(call.name)),
  );
}

/** agent-chat-ui makes up results. They count as placeholders. */
function isClaim(message: BaseMessage): boolean {
  return isResult(message) && !isMadeUpResult(message);
}

function claimsOf(messages: readonly BaseMessage[], own: readonly UnansweredCall[]): Refused {
  const open = new Map(own.map((unanswered) => [unanswered.call.id, unanswered]));
  const refused = new Map<BaseMessage, UnansweredCall>();
  for (const message of messages) {
    const isOwnHead = own.some(({ group }) => group.head.id === message.id);
    if (message.type === "remove" && (isOwnHead || message.id === REMOVE_ALL_MESSAGES)) open.clear();
    // A result after this message answers its call, not the stored one.
    if (!isOwnHead) for (const { id } of callsOf(message)) open.delete(id);
    const claimed = isClaim(message) && isResult(message) ? open.get(callIdOf(message)) : undefined;
    if (claimed !== undefined) refused.set(message, claimed);
  }
  return refused;
}
