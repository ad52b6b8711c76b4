import type { Message } from "@langchain/langgraph-sdk";
import { callsOf } from "./describe.js";

/** A claim of the demo that did not hold. */
export class CheckError extends Error {
  override readonly name = "CheckError";
}

export interface PairCount {
  readonly groups: number;
  readonly calls: number;
}

/**
 * Checks that each tool call of a closed group has exactly one result, directly after its message and in call order,
 * and that there are no other results. The group at the end can lack results.
 *
 * @throws CheckError that names the first message that breaks this.
 */
export function checkPairs(messages: readonly Message[]): PairCount {
  let groups = 0;
  let calls = 0;
  for (let index = 0; index < messages.length; ) {
    const message = messages[index];
    const expected = message?.type === "ai" ? callsOf(message) : [];
    if (message?.type === "tool") throw broken(index, `the result "${message.tool_call_id}" follows no call`);
    const results = messages.slice(index + 1, index + 1 + resultsFrom(messages, index + 1));
    const isOpen = index + results.length + 1 === messages.length;
    const ids = results.map((result) => (result.type === "tool" ? result.tool_call_id : undefined));
    const isPaired = isOpen
      ? isInOrder(
          ids,
          expected.map(({ id }) => id),
        )
      : ids.length === expected.length && ids.every((id, place) => id === expected[place]?.id);
    if (!isPaired) {
      const wanted = expected.map(({ id }) => id).join(", ") || "none";
      throw broken(
        index,
        `its calls are [${wanted}], but the results after it are for [${ids.join(", ") || "none"}]`,
      );
    }
    if (expected.length > 0) groups += 1;
    calls += expected.length;
    index += 1 + results.length;
  }
  return { groups, calls };
}

export function expect(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new CheckError(`Expected ${claim}.`);
}

/** The number of consecutive results from `start` on. */
function resultsFrom(messages: readonly Message[], start: number): number {
  const end = messages.findIndex((message, index) => index >= start && message.type !== "tool");
  return (end === -1 ? messages.length : end) - start;
}

/** Whether the ids are some of the expected ones, in their order. */
function isInOrder(ids: readonly (string | undefined)[], expected: readonly (string | undefined)[]): boolean {
  let place = 0;
  for (const id of ids) {
    place = expected.indexOf(id, place) + 1;
    if (place === 0) return false;
  }
  return true;
}

function broken(index: number, reason: string): CheckError {
  return new CheckError(`Message ${index + 1} is not paired: ${reason}.`);
}
