/** What the ledger of a thread says of its messages, and of what its database has. */

import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { coverageOf } from "../../src/history/summary.js";
import { replaceMethods } from "../../src/threads/langgraph/replace-methods.js";
import { unwrapped } from "../../src/threads/langgraph/swap-channel.js";
import { answeredIdOf, callIdsOf } from "../support/strict-check.js";
import type { Noted, Passed } from "./job.js";

export const RESULT = "result of ";

/**
 * A view of a checkpointer that tells when a write begins, and when the database has it.
 *
 * @param pass Contract: can end the process.
 */
export function notedSaver(saver: BaseCheckpointSaver, pass: (entry: Passed) => void): BaseCheckpointSaver {
  return replaceMethods(saver, {
    put: async (config, checkpoint, metadata, versions) => {
      // A delta channel stores its complete value from time to time.
      const messages = unwrapped(checkpoint.channel_values["messages"]);
      pass({ kind: "put-start" });
      const saved = await saver.put(config, checkpoint, metadata, versions);
      pass({
        kind: "put-end",
        checkpointId: checkpoint.id,
        parentId: config.configurable?.["checkpoint_id"],
        versions: checkpoint.channel_versions,
        messages: Array.isArray(messages) ? noteAll(messages) : undefined,
      });
      return saved;
    },
    putWrites: async (config, writes, ...rest) => {
      pass({ kind: "writes-start" });
      await saver.putWrites(config, writes, ...rest);
      pass({
        kind: "writes-end",
        checkpointId: String(config.configurable?.["checkpoint_id"]),
        messages: writes.flatMap(([channel, value]) => (channel === "messages" ? noteAll(value) : [])),
      });
    },
  });
}

export function noteAll(messages: unknown): Noted[] {
  return Array.isArray(messages)
    ? messages.map((message) => noteMessage(coerceMessageLikeToMessage(message)))
    : [];
}

function noteMessage(message: BaseMessage): Noted {
  const calls = callIdsOf(message);
  const line = `${message.type} ${answeredIdOf(message) ?? ""} ${calls.join()} ${message.text.slice(0, 60)}`;
  const results = calls.map((id) => `result ${id}`);
  return { key: keyOf(message), line, ...(results.length > 0 && { results }) };
}

function keyOf(message: BaseMessage): string | undefined {
  // The next summary replaces it.
  if (coverageOf(message) !== undefined) return undefined;
  if (message.type === "human") return `human ${message.text}`;
  if (message.type !== "tool") return `${message.type} ${message.id}`;
  // Whoever writes a placeholder does not know what the tool returned.
  return message.text.startsWith(RESULT) ? `result ${answeredIdOf(message)}` : undefined;
}
