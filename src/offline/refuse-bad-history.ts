/**
 * The history check of a strict provider, with OpenAI's wording. It follows the providers' rules and shares
 * no code with this library's repair, so that it can confirm the repair independently.
 *
 * 1. There is at least one message.
 * 2. The results of an assistant message with calls follow directly after it, with nothing in between.
 * 3. A call is an occurrence: for each id, a batch needs as many results as it has calls.
 * 4. Results are in call order (`tool_calls`, then `invalid_tool_calls`).
 * 5. There are no other results.
 */

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";

/** @throws {OfflineBadRequestError} that names the first violation. */
export function refuseBadHistory(messages: readonly BaseMessage[]): void {
  if (messages.length === 0) {
    throw new OfflineBadRequestError(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      "messages",
    );
  }
  let index = 0;
  while (index < messages.length) {
    const message = messages[index];
    if (isTool(message)) throw orphanResult(index);
    const callIds = readCallIds(message, index);
    const results = readResults(messages, index + 1);
    checkBatch(callIds, results, index + 1);
    index += 1 + results.length;
  }
}

function checkBatch(callIds: readonly string[], results: readonly ToolMessage[], firstIndex: number): void {
  const positions = occurrences(callIds);
  /** For each id, the indexes of its results. */
  const places = new Map<string, number[]>();
  const order: number[] = [];
  for (const [offset, { tool_call_id: id }] of results.entries()) {
    const index = firstIndex + offset;
    if (!id) throw missingResultId(index);
    const earlier = places.get(id) ?? [];
    if (!positions.has(id)) throw orphanResult(index);
    const position = positions.get(id)?.[earlier.length];
    if (position === undefined) throw duplicateResult(id, earlier.at(-1) ?? index, index);
    earlier.push(index);
    places.set(id, earlier);
    order.push(position);
  }
  const answered = new Set(order);
  const missing = callIds.filter((_, position) => !answered.has(position));
  if (missing.length > 0) throw missingResults(missing, firstIndex + results.length);
  const misplaced = order.findIndex((position, offset) => position !== offset);
  if (misplaced !== -1) throw resultOutOfOrder(callIds[misplaced], firstIndex + misplaced);
}

function readCallIds(message: BaseMessage | undefined, index: number): string[] {
  if (!isAI(message)) return [];
  const calls = [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])];
  return calls.map(({ id }, position) => {
    if (id) return id;
    const place = `messages[${index}].tool_calls[${position}].id`;
    throw new OfflineBadRequestError(`Missing required parameter: '${place}'.`, place);
  });
}

/** The consecutive results from `start` on. */
function readResults(messages: readonly BaseMessage[], start: number): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index];
    if (!isTool(message)) break;
    results.push(message);
  }
  return results;
}

function isAI(message: BaseMessage | undefined): message is AIMessage {
  return message?.type === "ai";
}

function isTool(message: BaseMessage | undefined): message is ToolMessage {
  return message?.type === "tool";
}

/** For each id, the positions of its calls. */
function occurrences(callIds: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const positions = new Map<string, number[]>();
  for (const [position, id] of callIds.entries()) {
    const sameId = positions.get(id) ?? [];
    sameId.push(position);
    positions.set(id, sameId);
  }
  return positions;
}

function missingResults(callIds: readonly string[], index: number): OfflineBadRequestError {
  return new OfflineBadRequestError(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${callIds.join(", ")}`,
    `messages.[${index}].role`,
  );
}

function orphanResult(index: number): OfflineBadRequestError {
  return new OfflineBadRequestError(
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    `messages.[${index}].role`,
  );
}

function duplicateResult(callId: string, first: number, second: number): OfflineBadRequestError {
  return new OfflineBadRequestError(
    "Invalid parameter: Duplicate value for 'tool_call_id' of " +
      `'${callId}', in messages[${first}] and messages[${second}].`,
    `messages.[${second}].tool_call_id`,
  );
}

function missingResultId(index: number): OfflineBadRequestError {
  return new OfflineBadRequestError(
    "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
    `messages.[${index}].tool_call_id`,
  );
}

function resultOutOfOrder(expected: string | undefined, index: number): OfflineBadRequestError {
  return new OfflineBadRequestError(
    "Invalid parameter: tool messages must stand in the order of the 'tool_calls' that they respond to: " +
      `expected a response to '${expected}' in messages[${index}].`,
    `messages.[${index}].tool_call_id`,
  );
}

/**
 * The error of a strict provider for a request that it cannot accept: HTTP 400, in the shape of the OpenAI
 * client. A retry never helps, because it sends the same history again.
 */
export class OfflineBadRequestError extends Error {
  override readonly name = "OfflineBadRequestError";
  readonly status = 400;
  readonly code = "invalid_request_error";
  readonly type = "invalid_request_error";
  /** The faulty place in the request, such as `messages.[3].role`. */
  readonly param: string;

  constructor(message: string, param: string) {
    super(message);
    this.param = param;
  }
}
