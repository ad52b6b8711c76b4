/** Finds archived messages that a client sends again, because it sends its whole list with each run. */

import { isDeepStrictEqual } from "node:util";
import type { BaseMessage } from "@langchain/core/messages";
import { callsOf, isAIMessage } from "../../history/messages/call.js";
import { createRepair, type Repair } from "../../history/messages/repair.js";
import { callIdOf, isResult } from "../../history/messages/result.js";
import { coverageOf } from "../../history/messages/summary.js";
import { publishRepairs } from "../../history/reducer/paired-messages.js";
import type { AgentEvent } from "../run/agent-event.js";
import { type ArchiveReader, readArchived } from "./archive.js";
import { archivedIds } from "./covered-order.js";

export interface Returned {
  readonly messages: ReadonlySet<BaseMessage>;
  /** For those that the client has changed: the archive keeps what it has. */
  readonly events: readonly AgentEvent[];
}

/**
 * Those of the given messages that summaries of the history have archived. A message that the archive has lost is not
 * among them. The change of one that was edited is published as a repair.
 */
export async function findReturned(
  given: readonly BaseMessage[],
  history: readonly BaseMessage[],
  store: ArchiveReader,
  threadId: string,
): Promise<Returned> {
  const read = (id: string) => readArchived(store, threadId, id);
  const ids = await archivedIds(history, read);
  const messages = new Set<BaseMessage>();
  const edited: Repair[] = [];
  for (const message of given) {
    if (message.id === undefined || !ids.has(message.id)) continue;
    const archived = await read(message.id);
    if (!("content" in archived)) continue;
    messages.add(message);
    if (!saysTheSame(message, archived)) edited.push(createRepair({ kind: "archived-refused", message }));
  }
  publishRepairs(edited);
  const events = edited.flatMap((repair): AgentEvent[] =>
    repair.kind === "archived-refused"
      ? [{ type: "message-refused", messageId: repair.message.id ?? "" }]
      : [],
  );
  return { messages, events };
}

/** Many clients have only the text of a message. What they say of a summary has no effect anyway. */
function saysTheSame(given: BaseMessage, archived: BaseMessage): boolean {
  if (coverageOf(archived) !== undefined) return true;
  const isSameContent = isDeepStrictEqual(given.content, archived.content) || given.content === archived.text;
  return (
    isSameContent && given.type === archived.type && isDeepStrictEqual(callsIn(given), callsIn(archived))
  );
}

function callsIn(message: BaseMessage): unknown {
  if (isResult(message)) return callIdOf(message);
  const { tool_calls = [] } = isAIMessage(message) ? message : {};
  return [callsOf(message).map(({ id, name }) => [id, name]), tool_calls.map(({ args }) => args)];
}
