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
const said = (id: string, content: string) => new AIMessage({ id, content });
const hold = (prefix: string) => ({ id: `${prefix}h`, name: "hold" });
const looked = (prefix: string) => ({ id: `${prefix}l`, name: "look", args: { label: prefix } });
const human = (id: string, content = "And then?") => new HumanMessage({ id, content });

/** Replaces the whole list by what comes after the last calls, as middleware that trims or summarises does. */
async function cutAtCalls(driver: Driver, ...summary: readonly BaseMessage[]): Promise<void> {
  const messages = await driver.read();
  const cut = messages.findLastIndex((message) => message.type === "ai" && hasCalls(message));
  const removal = new RemoveMessage({ id: REMOVE_ALL_MESSAGES });
  await driver.edit([removal, ...summary, ...messages.slice(cut + 1)]);
}

const recipe = (name: string, agents: Recipe["agents"], make: Recipe["make"]): Recipe => {
  return { name, agents, make };
};

export const RECIPES: readonly Recipe[] = [
  recipe("a run was cancelled in the middle of a tool", ALL, async (driver, prefix) => {
    await driver.cancel([hold(prefix)], 0);
    return { findings: [dangling(`${prefix}h`)] };
  }),
  recipe("a run was cancelled, and the user wrote again", FRAIL, async (driver, prefix) => {
    await driver.cancel([hold(prefix)], 0);
    await driver.say("Are you there?");
    return { findings: [dangling(`${prefix}h`)], kept: ["Are you there?"] };
  }),
  recipe("one call of a batch finished before its run was cancelled", ALL, async (driver, prefix) => {
    await driver.cancel([looked(prefix), hold(prefix)], 1);
    return { findings: [finished(`${prefix}l`), dangling(`${prefix}h`)], kept: [`look done ${prefix}`] };
  }),
  recipe("the same, and the user wrote twice since", ["langchain", "react"], async (driver, prefix) => {
    await driver.cancel([hold(prefix), looked(prefix)], 1);
    await driver.say("Hello?");
    await driver.say("Hello??");
    return {
      findings: [dangling(`${prefix}h`), dangling(`${prefix}l`)],
      kept: [`look done ${prefix}`, "Hello?", "Hello??"],
    };
  }),
  recipe("the process died in the middle of a batch", COUNTED, async (driver, prefix) => {
    const count = { id: `${prefix}c`, name: "count", args: { value: 77 } };
    await driver.die([looked(prefix), hold(prefix), count], 2);
    return {
      findings: [finished(`${prefix}l`), dangling(`${prefix}h`), finished(`${prefix}c`)],
      kept: [`look done ${prefix}`, "counted 77"],
      values: { counter: 77 },
    };
  }),
  recipe("a removal of an unknown message makes every read throw", FULL, async (driver, prefix) => {
    await driver.work([{ id: `${prefix}f`, name: "forget" }]);
    return { findings: [{ code: "thread/bricked" }, dangling(`${prefix}f`)], kept: ["forgotten"] };
  }),
  recipe(
    "the same, and a call beside it wrote another key of the state",
    ["langchain", "react"],
    async (driver, prefix) => {
      const count = { id: `${prefix}c`, name: "count", args: { value: 55 } };
      await driver.work([count, { id: `${prefix}f`, name: "forget" }]);
      return {
        findings: [{ code: "thread/bricked" }, dangling(`${prefix}c`), dangling(`${prefix}f`)],
        kept: ["counted 55", "forgotten"],
        values: { counter: 55 },
      };
    },
  ),
  recipe("a summariser cut between calls and their results", PLAIN, async (driver, prefix) => {
    await driver.work([
      { id: `${prefix}a`, name: "look" },
      { id: `${prefix}b`, name: "look" },
    ]);
    await cutAtCalls(driver, new SystemMessage({ id: `${prefix}s`, content: "Summary." }));
    return { findings: [orphan(`${prefix}a`), orphan(`${prefix}b`)] };
  }),
  recipe("a trimmed list begins with a result", PLAIN, async (driver, prefix) => {
    await driver.work([{ id: `${prefix}a`, name: "look" }]);
    await driver.say("Thank you.");
    await cutAtCalls(driver);
    return { findings: [orphan(`${prefix}a`)], kept: ["Thank you."] };
  }),
  recipe("an approval flow ran a tool twice", PLAIN, async (driver, prefix) => {
    await driver.work([{ id: `${prefix}a`, name: "look", args: { label: prefix } }]);
    await driver.edit([result(`${prefix}again`, `${prefix}a`, `look done twice ${prefix}`)]);
    return { findings: [duplicate(`${prefix}a`)] };
  }),
  recipe("the result came twice, directly after its call", PLAIN, async (driver, prefix) => {
    await driver.edit([
      ai(`${prefix}ai`, [`${prefix}a`, "look"]),
      result(`${prefix}1`, `${prefix}a`, "once"),
      result(`${prefix}2`, `${prefix}a`, "twice"),
      said(`${prefix}end`, "Done."),
    ]);
    return { findings: [duplicate(`${prefix}a`)], kept: ["Done."] };
  }),
  recipe("a queued message of the user landed between call and result", PLAIN, async (driver, prefix) => {
    await driver.edit([
      ai(`${prefix}ai`, [`${prefix}a`, "look"]),
      human(`${prefix}steer`, "Be quick."),
      result(`${prefix}1`, `${prefix}a`, `late ${prefix}`),
      said(`${prefix}end`, "Done."),
    ]);
    return { findings: [misplaced(`${prefix}a`)], kept: [`late ${prefix}`, "Be quick.", "Done."] };
  }),
  recipe("one of two results came late", PLAIN, async (driver, prefix) => {
    await driver.edit([
      ai(`${prefix}ai`, [`${prefix}a`, "look"], [`${prefix}b`, "look"]),
      result(`${prefix}2`, `${prefix}b`, `second ${prefix}`),
      human(`${prefix}h`, "And the first?"),
      said(`${prefix}end`, "It comes."),
      result(`${prefix}1`, `${prefix}a`, `first ${prefix}`),
    ]);
    return {
      findings: [misplaced(`${prefix}a`)],
      kept: [`first ${prefix}`, `second ${prefix}`, "And the first?"],
    };
  }),
  recipe("an id was used again, and the second call has no result", PLAIN, async (driver, prefix) => {
    await driver.work([{ id: `${prefix}x`, name: "look", args: { label: `one ${prefix}` } }]);
    await driver.edit([
      human(`${prefix}h`),
      ai(`${prefix}ai`, [`${prefix}x`, "read"]),
      human(`${prefix}i`, "Well?"),
    ]);
    return { findings: [dangling(`${prefix}x`)], kept: [`look done one ${prefix}`, "Well?"] };
  }),
  recipe("only the result of a hand-off survived", PLAIN, async (driver, prefix) => {
    await driver.edit([
      ai(`${prefix}ai`, [`${prefix}add`, "look"], [`${prefix}t`, "transfer_to_bob"]),
      result(`${prefix}1`, `${prefix}t`, "Transferred.", "transfer_to_bob"),
      said(`${prefix}end`, "I am Bob."),
    ]);
    return { findings: [dangling(`${prefix}add`)], kept: ["Transferred.", "I am Bob."] };
  }),
  recipe(
    "a declined call has its result, and a free call of its batch has none",
    PLAIN,
    async (driver, prefix) => {
      await driver.edit([
        ai(`${prefix}ai`, [`${prefix}i`, "pay"], [`${prefix}free`, "look"]),
        result(`${prefix}1`, `${prefix}i`, "The user declined.", "pay"),
        human(`${prefix}h`),
      ]);
      return { findings: [dangling(`${prefix}free`)], kept: ["The user declined."] };
    },
  ),
  recipe("a stream ended in the middle of the arguments", FRAIL, async (driver, prefix) => {
    await driver.work([{ id: `${prefix}cut`, name: "store", isCut: true }]);
    await driver.say("Well?");
    return { findings: [dangling(`${prefix}cut`)], kept: ["Well?"] };
  }),
  recipe("the arguments were cut off, and the call has an error result", PLAIN, async (driver, prefix) => {
    const cut = { id: `${prefix}cut`, name: "store", args: '{"value": "# Read' };
    const invalid_tool_calls = [{ ...cut, type: "invalid_tool_call" as const }];
    await driver.edit([
      new AIMessage({ id: `${prefix}ai`, content: "", invalid_tool_calls }),
      result(`${prefix}1`, `${prefix}cut`, `cut ${prefix}`, "store"),
      human(`${prefix}h`),
    ]);
    return {
      findings: [{ code: "content/arguments", callId: `${prefix}cut` }],
      kept: [`cut ${prefix}`],
    };
  }),
  recipe("a structured response left its call without a result", PLAIN, async (driver, prefix) => {
    await driver.edit([ai(`${prefix}ai`, [`${prefix}s`, "extract", { answer: 42 }]), human(`${prefix}h`)]);
    return { findings: [dangling(`${prefix}s`)] };
  }),
  recipe("a value is nested too deep to be read again", FULL, async (driver, prefix) => {
    await driver.work([{ id: `${prefix}deep`, name: "store", args: { value: nested(70) } }]);
    return { findings: [{ code: "thread/bricked" }, { code: "content/too-deep" }], kept: ["store done"] };
  }),
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
