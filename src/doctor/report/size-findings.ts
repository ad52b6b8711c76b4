/** Findings about the size of a thread. */

import type { BaseMessage } from "@langchain/core/messages";
import { measureInput } from "../../history/long-threads/measure-input.js";
import type { Finding } from "../finding.js";
import type { StoredThread } from "../stored-thread.js";
import { finding, fix } from "./finding-of.js";
import { sizeOf } from "./size-of.js";

const LARGE_BYTES = 5_000_000;

export interface SizeLimits {
  readonly maxTokens?: number | undefined;
  readonly largeBytes?: number | undefined;
}

export function sizeFindings(
  thread: StoredThread,
  messages: readonly BaseMessage[],
  { maxTokens, largeBytes = LARGE_BYTES }: SizeLimits,
): Finding[] {
  const findings: Finding[] = [];
  const tokens = measureInput(messages, { toolTokens: 0, promptTokens: 0, maxToolCalls: undefined });
  if (maxTokens !== undefined && tokens > maxTokens)
    findings.push(
      finding("size/window", "error", {
        evidence: `The messages have about ${tokens} tokens, and the model takes ${maxTokens}.`,
        fixes: [fix("at-request")],
      }),
    );
  const size = sizeOf(thread);
  if (size === undefined || size.messagesChannel === "delta" || size.messagesBytes < largeBytes)
    return findings;
  if (size.savedByDelta <= size.messagesBytes / 2) return findings;
  const evidence =
    `${size.checkpoints} checkpoints store ${size.messagesBytes} bytes of messages, for a list of ` +
    `${size.latestMessagesBytes} bytes. A delta channel would have stored about ${size.messagesBytes - size.savedByDelta}, ` +
    `and an archive would save about ${size.savedByArchive} of each new checkpoint.`;
  return [...findings, finding("size/quadratic", "warning", { evidence, fixes: [fix("use-delta")] })];
}
