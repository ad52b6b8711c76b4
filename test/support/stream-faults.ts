/** The conversations in which a stream breaks, and what a client makes of the messages it is streamed. */

import { type BaseMessage, type BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { CALL_FAULTS, type ChatRequest, FAULTS, type Fault, type WantedReply } from "./model-server.js";

export interface FaultCase {
  readonly title: string;
  readonly fault: Fault;
  /** Of the faulty turn; each is asked for in a call of its own. */
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

/** A first and a later turn of one thread. */
export type FaultThread = readonly [FaultCase, FaultCase];

/** All of them, each with a later turn that breaks as the first one does. */
export const FAULT_THREADS = FAULT_CASES.filter(({ turn }) => turn === "first").map((first) => {
  const wanted = { ...first, calls: first.cities.length };
  return threadOf(wanted, wanted);
});

/** Each fault at each place, and each place in either turn, for one call and for parallel ones. */
export const FAULT_SAMPLE = (Object.keys(FAULTS) as Fault[]).map((fault, index) => {
  const calls = index % 4 < 2 ? 1 : 2;
  const places = index % 2 === 0 ? (["call", "answer"] as const) : (["answer", "call"] as const);
  const [first, later] = CALL_FAULTS.has(fault) ? (["call", "call"] as const) : places;
  return threadOf({ fault, at: first, calls }, { fault, at: later, calls: 3 - calls });
});

interface WantedCase extends Pick<FaultCase, "fault" | "at"> {
  readonly calls: number;
}

function threadOf(first: WantedCase, later: WantedCase): FaultThread {
  return [find(first, "first"), find(later, "later")];
}

function find({ fault, at, calls }: WantedCase, turn: FaultCase["turn"]): FaultCase {
  const found = FAULT_CASES.find(
    (one) => one.fault === fault && one.at === at && one.cities.length === calls && one.turn === turn,
  );
  if (found === undefined) throw new Error(`There is no case in which the ${turn} ${at} breaks ${fault}.`);
  return found;
}

/** What a user writes to get that turn. */
export function wish({ cities, fault, at }: Pick<FaultCase, "cities"> & Partial<FaultCase>): string {
  return JSON.stringify({ cities, fault, at });
}

export const answerFor = (cities: readonly string[]) =>
  `The sky is clear over ${cities.join(" and ")} today.`;
export const CALL_TEXT = "Let me look that up. ";

/** What the model answers to the user's last wish. */
export function respondToWish(toolName: string): (request: ChatRequest) => WantedReply {
  return ({ messages }) => {
    const last = messages.findLast(({ role }) => role === "user")?.content ?? "";
    const { cities, fault, at }: FaultCase = JSON.parse(last);
    if (messages.at(-1)?.role === "tool")
      return { text: answerFor(cities), fault: at === "answer" ? fault : undefined };
    return {
      text: CALL_TEXT,
      calls: cities.map((city) => ({ name: toolName, args: { city } })),
      fault: at === "call" ? fault : undefined,
    };
  };
}

/** What one who joins chunks by id, and heeds what is taken back, has in the end. */
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

/** Texts and calls in their order, then the results, which come to a client as the tools finish. */
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
