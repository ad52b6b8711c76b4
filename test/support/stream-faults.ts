/** Conversations with broken responses, and the messages that a client reads from their streams. */

import { type BaseMessage, type BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import {
  CALL_FAULTS,
  type ChatRequest,
  FAULTS,
  type Fault,
  STREAM_FAULTS,
  type WantedReply,
} from "./model-server.js";
import type { Manner } from "./open-thread.js";

export interface FaultCase {
  readonly title: string;
  readonly fault: Fault;
  /** The cities of the faulty turn. Each city has one call. */
  readonly cities: readonly string[];
  readonly at: "call" | "answer";
  readonly turn: "first" | "later";
}

let count = 0;

export const FAULT_CASES: readonly FaultCase[] = (Object.keys(FAULTS) as Fault[]).flatMap((fault) =>
  (["first", "later"] as const).flatMap((turn) =>
    [1, 2].flatMap((calls) =>
      (["call", "answer"] as const)
        .filter((at) => at === "call" || !CALL_FAULTS.has(fault))
        .map((at) => {
          count += 1;
          const cities = Array.from({ length: calls }, (_, index) => `C${count}x${index}`);
          const title = `${at} breaks ${fault}, ${turn} turn, ${calls === 1 ? "one call" : "parallel calls"}`;
          return { title, fault, cities, at, turn };
        }),
    ),
  ),
);

/** A model that nobody listens to is asked in one piece, where some faults do not exist. */
export const hasFault = (manner: Manner, fault: Fault) =>
  manner === "listened to" || !STREAM_FAULTS.has(fault);

/** A first and a later turn of one thread. */
export type FaultThread = readonly [FaultCase, FaultCase];

function find(fault: Fault, at: FaultCase["at"], calls: number, turn: FaultCase["turn"]): FaultCase {
  const found = FAULT_CASES.find(
    (one) => one.fault === fault && one.at === at && one.cities.length === calls && one.turn === turn,
  );
  if (found === undefined) throw new Error(`There is no case in which the ${turn} ${at} breaks ${fault}.`);
  return found;
}

/** All cases. In each, the later turn breaks in the same way as the first. */
export const FAULT_THREADS = FAULT_CASES.filter(({ turn }) => turn === "first").map(
  (first): FaultThread => [first, find(first.fault, first.at, first.cities.length, "later")],
);

/** A sample with each fault, and with each place in both turns, for one call and for parallel calls. */
export const FAULT_SAMPLE = (Object.keys(FAULTS) as Fault[]).map((fault, index): FaultThread => {
  const calls = index % 4 < 2 ? 1 : 2;
  const places = index % 2 === 0 ? (["call", "answer"] as const) : (["answer", "call"] as const);
  const [first, later] = CALL_FAULTS.has(fault) ? (["call", "call"] as const) : places;
  return [find(fault, first, calls, "first"), find(fault, later, 3 - calls, "later")];
});

/** The message of the user that leads to this turn. */
export function wish({ cities, fault, at }: Pick<FaultCase, "cities"> & Partial<FaultCase>): string {
  return JSON.stringify({ cities, fault, at });
}

export const answerFor = (cities: readonly string[]) =>
  `The sky is clear over ${cities.join(" and ")} today.`;
export const CALL_TEXT = "Let me look that up. ";

/** The model's response to the last message of the user. */
export function respondToWish(toolName: string): (request: ChatRequest) => WantedReply {
  return ({ messages }) => {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const { cities, fault, at }: FaultCase = JSON.parse(messages[asked]?.content ?? "");
    // Some clients keep the broken answer and ask again: the results are there still.
    if (messages.slice(asked).some(({ role }) => role === "tool"))
      return { text: answerFor(cities), fault: at === "answer" ? fault : undefined };
    return {
      text: CALL_TEXT,
      calls: cities.map((city) => ({ name: toolName, args: { city } })),
      fault: at === "call" ? fault : undefined,
    };
  };
}

/** The final messages of a client that joins chunks by id and applies removals. */
export class PlainClient {
  readonly #messages = new Map<string, BaseMessage>();

  add(message: BaseMessage): void {
    const id = message.id ?? "";
    if (RemoveMessage.isInstance(message)) {
      this.#messages.delete(id);
      return;
    }
    const known = this.#messages.get(id) as BaseMessageChunk | undefined;
    this.#messages.set(id, known === undefined ? message : known.concat(message as BaseMessageChunk));
  }

  get messages(): BaseMessage[] {
    return [...this.#messages.values()];
  }
}

/** Texts and calls in order, then the results, which a client gets in the order in which the tools finish. */
export function shown(messages: readonly BaseMessage[]): string[] {
  const lines = messages
    .filter(({ type }) => type !== "human")
    .map((message) => {
      const calls = (Reflect.get(message, "tool_calls") ?? []) as { name: string; args: object }[];
      return [message.type, message.text, ...calls.map(({ name, args }) => `${name}${JSON.stringify(args)}`)];
    })
    .map((parts) => parts.join("|"));
  const isResult = (line: string) => line.startsWith("tool|");
  return [...lines.filter((line) => !isResult(line)), ...lines.filter(isResult).sort()];
}
