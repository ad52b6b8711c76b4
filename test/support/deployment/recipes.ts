/**
 * The ways in which threads break, each as it happens in life: by a real run of the agent, or by a write that users,
 * user interfaces and middleware make. See the reports in `test/support/broken-histories.ts`.
 */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import type { FindingCode } from "../../../src/doctor/finding.js";
import type { AgentName } from "./agents.js";
import type { Driver } from "./driver.js";

/** A finding that the doctor must make. */
export interface Expected {
  readonly code: FindingCode;
  /** The id of the call; undefined if the finding is about no call. */
  readonly callId?: string;
  /** Its tool has finished. A server shows the result, so the call does not look dangling. */
  readonly isFinished?: true;
}

export interface Made {
  readonly findings: readonly Expected[];
  /** The texts of finished results, and of other messages, that must be in the thread after a repair. */
  readonly kept?: readonly string[];
  /** What other keys of the state have after a repair, if a finished task has written them. */
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface Recipe {
  readonly name: string;
  readonly agents: readonly AgentName[];
  /** `prefix` makes the ids of a thread differ from those of others. */
  readonly make: (driver: Driver, prefix: string) => Promise<Made>;
}

const ALL: readonly AgentName[] = ["langchain", "delta", "react", "deep", "ours"];
/** Those whose messages are as LangGraph's reducer leaves them. */
const PLAIN: readonly AgentName[] = ["langchain", "delta", "react", "deep"];
/** Those of them whose agent does not mend anything itself when a run begins. */
const FRAIL: readonly AgentName[] = ["langchain", "delta", "react"];
/** Those whose messages are under `messagesStateReducer`. */
const FULL: readonly AgentName[] = ["langchain", "react", "deep"];
const COUNTED: readonly AgentName[] = ["langchain", "delta", "react", "ours"];

const dangling = (callId: string): Expected => ({ code: "pairing/dangling-call", callId });
const finished = (callId: string): Expected => ({ ...dangling(callId), isFinished: true });
const orphan = (callId: string): Expected => ({ code: "pairing/orphan-result", callId });
const misplaced = (callId: string): Expected => ({ code: "pairing/misplaced-result", callId });
const duplicate = (callId: string): Expected => ({ code: "pairing/duplicate-result", callId });

const ai = (id: string, ...calls: readonly (readonly [id: string, name: string, args?: object])[]) =>
  new AIMessage({
    id,
    content: "",
    tool_calls: calls.map(([callId, name, args = {}]) => ({
      id: callId,
      name,
      args: { ...args },
      type: "tool_call",
    })),
  });
const result = (id: string, callId: string, content: string, name = "look") =>
  new ToolMessage({ id, tool_call_id: callId, content, name });
const human = (id: string, content = "And then?") => new HumanMessage({ id, content });

/** Replaces the whole list, as middleware that trims or summarises does. */
async function rewrite(
  driver: Driver,
  change: (messages: readonly BaseMessage[]) => readonly BaseMessage[],
): Promise<void> {
  const messages = change(await driver.read());
  await driver.edit([new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...messages]);
}

export const RECIPES: readonly Recipe[] = [
  {
    name: "a run was cancelled in the middle of a tool",
    agents: ALL,
    make: async (driver, prefix) => {
      await driver.cancel([{ id: `${prefix}h`, name: "hold" }], 0);
      return { findings: [dangling(`${prefix}h`)] };
    },
  },
  {
    name: "a run was cancelled, and the user wrote again",
    agents: FRAIL,
    make: async (driver, prefix) => {
      await driver.cancel([{ id: `${prefix}h`, name: "hold" }], 0);
      await driver.say("Are you there?");
      return { findings: [dangling(`${prefix}h`)], kept: ["Are you there?"] };
    },
  },
  {
    name: "one call of a batch finished before its run was cancelled",
    agents: ALL,
    make: async (driver, prefix) => {
      const look = { id: `${prefix}l`, name: "look", args: { label: prefix } };
      await driver.cancel([look, { id: `${prefix}h`, name: "hold" }], 1);
      return { findings: [finished(`${prefix}l`), dangling(`${prefix}h`)], kept: [`look done ${prefix}`] };
    },
  },
  {
    name: "the same, and the user wrote twice since",
    agents: ["langchain", "react"],
    make: async (driver, prefix) => {
      const look = { id: `${prefix}l`, name: "look", args: { label: prefix } };
      await driver.cancel([{ id: `${prefix}h`, name: "hold" }, look], 1);
      await driver.say("Hello?");
      await driver.say("Hello??");
      return {
        findings: [dangling(`${prefix}h`), dangling(`${prefix}l`)],
        kept: [`look done ${prefix}`, "Hello?", "Hello??"],
      };
    },
  },
  {
    name: "the process died in the middle of a batch",
    agents: COUNTED,
    make: async (driver, prefix) => {
      const look = { id: `${prefix}l`, name: "look", args: { label: prefix } };
      const count = { id: `${prefix}c`, name: "count", args: { value: 77 } };
      await driver.die([look, { id: `${prefix}h`, name: "hold" }, count], 2);
      return {
        findings: [finished(`${prefix}l`), dangling(`${prefix}h`), finished(`${prefix}c`)],
        kept: [`look done ${prefix}`, "counted 77"],
        values: { counter: 77 },
      };
    },
  },
  {
    name: "a removal of an unknown message makes every read throw",
    agents: FULL,
    make: async (driver, prefix) => {
      await driver.work([{ id: `${prefix}f`, name: "forget" }]);
      return { findings: [{ code: "thread/bricked" }, dangling(`${prefix}f`)], kept: ["forgotten"] };
    },
  },
  {
    name: "the same, and a call beside it wrote another key of the state",
    agents: ["langchain", "react"],
    make: async (driver, prefix) => {
      const count = { id: `${prefix}c`, name: "count", args: { value: 55 } };
      await driver.work([count, { id: `${prefix}f`, name: "forget" }]);
      return {
        findings: [{ code: "thread/bricked" }, dangling(`${prefix}c`), dangling(`${prefix}f`)],
        kept: ["counted 55", "forgotten"],
        values: { counter: 55 },
      };
    },
  },
  {
    name: "a summariser cut between calls and their results",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.work([
        { id: `${prefix}a`, name: "look" },
        { id: `${prefix}b`, name: "look" },
      ]);
      await rewrite(driver, (messages) => {
        const cut = messages.findLastIndex((message) => message.type === "ai" && hasCalls(message));
        return [new SystemMessage({ id: `${prefix}s`, content: "Summary." }), ...messages.slice(cut + 1)];
      });
      return { findings: [orphan(`${prefix}a`), orphan(`${prefix}b`)] };
    },
  },
  {
    name: "a trimmed list begins with a result",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.work([{ id: `${prefix}a`, name: "look" }]);
      await driver.say("Thank you.");
      await rewrite(driver, (messages) => {
        const cut = messages.findLastIndex((message) => message.type === "ai" && hasCalls(message));
        return messages.slice(cut + 1);
      });
      return { findings: [orphan(`${prefix}a`)], kept: ["Thank you."] };
    },
  },
  {
    name: "an approval flow ran a tool twice",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.work([{ id: `${prefix}a`, name: "look", args: { label: prefix } }]);
      await driver.edit([result(`${prefix}again`, `${prefix}a`, `look done twice ${prefix}`)]);
      return { findings: [duplicate(`${prefix}a`)] };
    },
  },
  {
    name: "the result came twice, directly after its call",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.edit([
        ai(`${prefix}ai`, [`${prefix}a`, "look"]),
        result(`${prefix}1`, `${prefix}a`, "once"),
        result(`${prefix}2`, `${prefix}a`, "twice"),
        new AIMessage({ id: `${prefix}end`, content: "Done." }),
      ]);
      return { findings: [duplicate(`${prefix}a`)], kept: ["Done."] };
    },
  },
  {
    name: "a queued message of the user landed between call and result",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.edit([
        ai(`${prefix}ai`, [`${prefix}a`, "look"]),
        human(`${prefix}steer`, "Be quick."),
        result(`${prefix}1`, `${prefix}a`, `late ${prefix}`),
        new AIMessage({ id: `${prefix}end`, content: "Done." }),
      ]);
      return { findings: [misplaced(`${prefix}a`)], kept: [`late ${prefix}`, "Be quick.", "Done."] };
    },
  },
  {
    name: "one of two results came late",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.edit([
        ai(`${prefix}ai`, [`${prefix}a`, "look"], [`${prefix}b`, "look"]),
        result(`${prefix}2`, `${prefix}b`, `second ${prefix}`),
        human(`${prefix}h`, "And the first?"),
        new AIMessage({ id: `${prefix}end`, content: "It comes." }),
        result(`${prefix}1`, `${prefix}a`, `first ${prefix}`),
      ]);
      return {
        findings: [misplaced(`${prefix}a`)],
        kept: [`first ${prefix}`, `second ${prefix}`, "And the first?"],
      };
    },
  },
  {
    name: "an id was used again, and the second call has no result",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.work([{ id: `${prefix}x`, name: "look", args: { label: `one ${prefix}` } }]);
      await driver.edit([
        human(`${prefix}h`),
        ai(`${prefix}ai`, [`${prefix}x`, "read"]),
        human(`${prefix}i`, "Well?"),
      ]);
      return { findings: [dangling(`${prefix}x`)], kept: [`look done one ${prefix}`, "Well?"] };
    },
  },
  {
    name: "only the result of a hand-off survived",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.edit([
        ai(`${prefix}ai`, [`${prefix}add`, "look"], [`${prefix}t`, "transfer_to_bob"]),
        result(`${prefix}1`, `${prefix}t`, "Transferred.", "transfer_to_bob"),
        new AIMessage({ id: `${prefix}end`, content: "I am Bob." }),
      ]);
      return { findings: [dangling(`${prefix}add`)], kept: ["Transferred.", "I am Bob."] };
    },
  },
  {
    name: "a declined call has its result, and a free call of its batch has none",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.edit([
        ai(`${prefix}ai`, [`${prefix}i`, "pay"], [`${prefix}free`, "look"]),
        result(`${prefix}1`, `${prefix}i`, "The user declined.", "pay"),
        human(`${prefix}h`),
      ]);
      return { findings: [dangling(`${prefix}free`)], kept: ["The user declined."] };
    },
  },
  {
    name: "a stream ended in the middle of the arguments",
    agents: FRAIL,
    make: async (driver, prefix) => {
      await driver.work([{ id: `${prefix}cut`, name: "store", isCut: true }]);
      await driver.say("Well?");
      return { findings: [dangling(`${prefix}cut`)], kept: ["Well?"] };
    },
  },
  {
    name: "the arguments were cut off, and the call has an error result",
    agents: PLAIN,
    make: async (driver, prefix) => {
      const cut = {
        id: `${prefix}cut`,
        name: "store",
        args: '{"value": "# Read',
        type: "invalid_tool_call",
      } as const;
      await driver.edit([
        new AIMessage({ id: `${prefix}ai`, content: "", invalid_tool_calls: [cut] }),
        result(`${prefix}1`, `${prefix}cut`, `cut ${prefix}`, "store"),
        human(`${prefix}h`),
      ]);
      return {
        findings: [{ code: "content/arguments", callId: `${prefix}cut` }],
        kept: [`cut ${prefix}`],
      };
    },
  },
  {
    name: "a structured response left its call without a result",
    agents: PLAIN,
    make: async (driver, prefix) => {
      await driver.edit([ai(`${prefix}ai`, [`${prefix}s`, "extract", { answer: 42 }]), human(`${prefix}h`)]);
      return { findings: [dangling(`${prefix}s`)] };
    },
  },
  {
    name: "a value is nested too deep to be read again",
    agents: FULL,
    make: async (driver, prefix) => {
      await driver.work([{ id: `${prefix}deep`, name: "store", args: { value: nested(70) } }]);
      return { findings: [{ code: "thread/bricked" }, { code: "content/too-deep" }], kept: ["store done"] };
    },
  },
];

function hasCalls(message: BaseMessage): boolean {
  const calls: unknown = Reflect.get(message, "tool_calls");
  return Array.isArray(calls) && calls.length > 0;
}

function nested(depth: number): object {
  let value: object = { end: true };
  for (let level = 0; level < depth; level += 1) value = { next: value };
  return value;
}
