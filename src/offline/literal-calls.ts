/** Reads calls that are written out: `call NAME {json}`. */

import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod/v4";
import { isAIMessage } from "../history/call.js";
import { isResult } from "../history/result.js";
import { hashText } from "../shared/json.js";
import type { PlannedCall } from "./free-text.js";

interface LiteralCall {
  readonly name: string;
  /** Undefined if no JSON object follows the name. */
  readonly args: Readonly<Record<string, unknown>> | undefined;
  readonly start: number;
  readonly end: number;
}

const LITERAL = /(?:\b(?:call|use)\s+|(?:调用|使用)\s*)[`"']?([\w-]+)[`"']?/giu;
const OBJECT_FOLLOWS = /[\s:：]*(?=\{)/uy;
const argsSchema = z.record(z.string(), z.unknown());

/** The literal calls of bound tools, in order of appearance. */
export function findLiteralCalls(text: string, toolNames: ReadonlySet<string>): LiteralCall[] {
  const calls: LiteralCall[] = [];
  for (const match of text.matchAll(LITERAL)) {
    const name = match[1];
    const isInsideArguments = match.index < (calls.at(-1)?.end ?? 0);
    if (name === undefined || !toolNames.has(name) || isInsideArguments) continue;
    const nameEnd = match.index + match[0].length;
    const json = readObjectAt(text, nameEnd);
    calls.push({ name, args: json?.args, start: match.index, end: json?.end ?? nameEnd });
  }
  return calls;
}

function readObjectAt(
  text: string,
  position: number,
): { args: Record<string, unknown>; end: number } | undefined {
  OBJECT_FOLLOWS.lastIndex = position;
  const gap = OBJECT_FOLLOWS.exec(text);
  if (gap === null) return undefined;
  const start = position + gap[0].length;
  const end = findObjectEnd(text, start);
  const parsed = argsSchema.safeParse(parseJson(text.slice(start, end)));
  return parsed.success ? { args: parsed.data, end } : undefined;
}

/** The position after the brace that closes the object. Braces within strings do not count. */
function findObjectEnd(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    if (isInString && character === "\\") index += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === "{") depth += 1;
    else if (!isInString && character === "}") depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/*
 * Derives ids of tool calls: the model stays deterministic, and every call of a thread gets a different id.
 */

export interface IdentifiedCall extends PlannedCall {
  /** At most 40 characters of `[A-Za-z0-9_-]`, which every provider accepts. */
  readonly id: string;
}

/** Gives ids to the calls of the response to these messages. */
export function identifyCalls(
  calls: readonly PlannedCall[],
  messages: readonly BaseMessage[],
): IdentifiedCall[] {
  // The ids of the messages count too. Two requests of one thread can have the same text and the same history
  // before them after summaries and limits have shortened it.
  const digest = hashText(messages.map((message) => JSON.stringify(essenceOf(message))).join("")).slice(
    0,
    20,
  );
  return calls.map(({ name, args }, position) => ({ id: `call_${digest}_${position}`, name, args }));
}

function essenceOf(message: BaseMessage): unknown {
  return [
    message.type,
    message.id,
    message.content,
    isAIMessage(message) ? message.tool_calls : undefined,
    isResult(message) ? message.tool_call_id : undefined,
  ];
}
