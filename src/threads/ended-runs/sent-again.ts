/** Whether a client sends an input again that its thread has already, as a job engine does after a crash. */

import type { BaseMessage } from "@langchain/core/messages";
import { type CheckpointTuple, START } from "@langchain/langgraph";
import { withStoredMarks } from "../../history/marks.js";
import { hasSameWords, isSameMessage } from "../../history/message.js";
import { isUserMessage } from "../../history/summary.js";
import { toJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { idsInInput } from "../commands.js";
import type { RunCheckpoints } from "../saver/run-checkpoints.js";
import { walkBack } from "./leftovers.js";

interface SentInput {
  readonly input: Readonly<Record<string, unknown>>;
  /** The input's messages, each with an id. */
  readonly messages: readonly BaseMessage[];
  /** The id of its latest user message. */
  readonly userMessageId: string | undefined;
  /** The other keys that it writes. */
  readonly keys: readonly string[];
}

/**
 * Whether a thread has the whole input: each message with the same content, and the same values of the other keys.
 *
 * @param history The messages of the thread before the input.
 * @param latest The checkpoint with this history.
 */
export async function hasInput(
  { input, messages, userMessageId, keys }: SentInput,
  history: readonly BaseMessage[],
  latest: CheckpointTuple,
  read: RunCheckpoints["read"],
): Promise<boolean> {
  const known = new Map<unknown, BaseMessage>(history.map((message) => [message.id, message]));
  const isStored = (message: BaseMessage): boolean => {
    const stored = known.get(message.id);
    if (stored === undefined) return false;
    // A page can send a text as blocks.
    const isSaid = isUserMessage(message) && hasSameWords(message, stored);
    return isSaid || isSameMessage(withStoredMarks(message, stored), stored);
  };
  const isSame = (earlier: Readonly<Record<string, unknown>>): boolean =>
    keys.every((key) => toJson(earlier[key]) === toJson(input[key]));
  return (
    // A client that sends a whole history puts the new message last.
    messages.toReversed().every(isStored) &&
    // Tools write to own keys too.
    (isSame(latest.checkpoint.channel_values) || isSame(await inputWith(userMessageId, latest, read)))
  );
}

/** The input that brought a message to the thread. Empty if it cannot be found. */
async function inputWith(
  id: string | undefined,
  latest: CheckpointTuple,
  read: RunCheckpoints["read"],
): Promise<Readonly<Record<string, unknown>>> {
  for await (const { checkpoint } of walkBack(latest, read, SEARCH)) {
    const input: unknown = checkpoint.checkpoint.channel_values[START];
    if (isRecord(input) && idsInInput(input).some((known) => known === id)) return input;
  }
  return {};
}

/** The most checkpoints that are searched for the input. */
const SEARCH = { most: 1_000 };
