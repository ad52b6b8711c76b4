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
import type { FindingCode } from "../../../src/doctor.js";
import { nested } from "../foreign-values.js";
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
/** Those of them whose agent does not repair anything itself when a run begins. */
const FRAIL: readonly AgentName[] = ["langchain", "delta", "react"];
/** Those whose messages are under `messagesStateReducer`. */
const FULL: readonly AgentName[] = ["langchain", "react", "deep"];
const COUNTED: readonly AgentName[] = ["langchain", "delta", "react", "ours"];

const dangling = (callId: string): Expected => ({ code: "pairing/dangling-call", callId });
const finished = (callId: string): Expected => ({ ...dangling(callId), isFinished: true });
const orphan = (callId: string): Expected => ({ code: "pairing/orphan-result", callId });
const misplaced = (callId: string): Expected => ({ code: "pairing/misplaced-result", callId });
const duplicate = (callId: string): Expected => ({ code: "pairing/duplicate-result", callId });
const bricked: Expected = { code: "thread/bricked" };

const ai = (id: string, ...calls: readonly (readonly [id: string, name: string])[]) => {
  const tool_calls = calls.map(([callId, name]) => ({ id: callId, name, args: {} }));
  return new AIMessage({ id, content: "", tool_calls });
};
const said = (id: string, content: string) => new AIMessage({ id, content });
const result = (id: string, callId: string, content: string, name = "look") =>
  new ToolMessage({ id, tool_call_id: callId, content, name });
const human = (id: string, content = "And then?") => new HumanMessage({ id, content });

/** Removes what stands before the results of the last calls, as middleware that trims or summarises does. */
async function cutBeforeResults(driver: Driver, ...summary: readonly BaseMessage[]): Promise<void> {
  const messages = await driver.read();
  const cut = messages.findLastIndex(
    (message) => AIMessage.isInstance(message) && message.tool_calls?.length,
  );
  const left = [...summary, ...messages.slice(cut + 1)];
  await driver.edit([new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...left]);
}

/** A call of the tool `look`. @param p The prefix of the ids. */
const look = (p: string) => ({ id: `${p}l`, name: "look", args: { label: p } });

/** A recipe that writes messages to the thread. */
const edited = (
  name: string,
  messages: (p: string) => readonly BaseMessage[],
  made: (p: string) => Made,
): Recipe => ({
  name,
  agents: PLAIN,
  make: async (driver, prefix) => {
    await driver.edit(messages(prefix));
    return made(prefix);
  },
});

export const RECIPES: readonly Recipe[] = [
  {
    name: "a run was cancelled in the middle of a tool",
    agents: ALL,
    make: async (driver, p) => {
      await driver.cancel([{ id: `${p}h`, name: "hold" }], 0);
      return { findings: [dangling(`${p}h`)] };
    },
  },
  {
    name: "a run was cancelled, and the user wrote again",
    agents: FRAIL,
    make: async (driver, p) => {
      await driver.cancel([{ id: `${p}h`, name: "hold" }], 0);
      await driver.say("Are you there?");
      return { findings: [dangling(`${p}h`)], kept: ["Are you there?"] };
    },
  },
  {
    name: "one call of a batch finished before its run was cancelled",
    agents: ALL,
    make: async (driver, p) => {
      await driver.cancel([look(p), { id: `${p}h`, name: "hold" }], 1);
      return { findings: [finished(`${p}l`), dangling(`${p}h`)], kept: [`look done ${p}`] };
    },
  },
  {
    name: "the same, and the user wrote twice since",
    agents: ["langchain", "react"],
    make: async (driver, p) => {
      await driver.cancel([{ id: `${p}h`, name: "hold" }, look(p)], 1);
      await driver.say("Hello?");
      await driver.say("Hello??");
      return {
        findings: [dangling(`${p}h`), dangling(`${p}l`)],
        kept: [`look done ${p}`, "Hello?", "Hello??"],
      };
    },
  },
  {
    name: "the process died in the middle of a batch",
    agents: COUNTED,
    make: async (driver, p) => {
      const count = { id: `${p}c`, name: "count", args: { value: 77 } };
      await driver.die([look(p), { id: `${p}h`, name: "hold" }, count], 2);
      const findings = [finished(`${p}l`), dangling(`${p}h`), finished(`${p}c`)];
      return { findings, kept: [`look done ${p}`, "counted 77"], values: { counter: 77 } };
    },
  },
  {
    name: "a removal of an unknown message makes every read throw",
    agents: FULL,
    make: async (driver, p) => {
      await driver.work([{ id: `${p}f`, name: "forget" }]);
      return { findings: [bricked, dangling(`${p}f`)], kept: ["forgotten"] };
    },
  },
  {
    name: "the same, and a call beside it wrote another key of the state",
    agents: ["langchain", "react"],
    make: async (driver, p) => {
      const count = { id: `${p}c`, name: "count", args: { value: 55 } };
      await driver.work([count, { id: `${p}f`, name: "forget" }]);
      const findings = [bricked, dangling(`${p}c`), dangling(`${p}f`)];
      return { findings, kept: ["counted 55", "forgotten"], values: { counter: 55 } };
    },
  },
  {
    name: "a summariser cut between calls and their results",
    agents: PLAIN,
    make: async (driver, p) => {
      await driver.work(["a", "b"].map((id) => ({ id: `${p}${id}`, name: "look" })));
      await cutBeforeResults(driver, new SystemMessage({ id: `${p}s`, content: "Summary." }));
      return { findings: [orphan(`${p}a`), orphan(`${p}b`)] };
    },
  },
  {
    name: "a trimmed list begins with a result",
    agents: PLAIN,
    make: async (driver, p) => {
      await driver.work([look(p)]);
      await driver.say("Thank you.");
      await cutBeforeResults(driver);
      return { findings: [orphan(`${p}l`)], kept: ["Thank you."] };
    },
  },
  {
    name: "an approval flow ran a tool twice",
    agents: PLAIN,
    make: async (driver, p) => {
      await driver.work([look(p)]);
      await driver.edit([result(`${p}again`, `${p}l`, `look done twice ${p}`)]);
      return { findings: [duplicate(`${p}l`)] };
    },
  },
  edited(
    "the result came twice, directly after its call",
    (p) => [
      ai(`${p}ai`, [`${p}a`, "look"]),
      result(`${p}1`, `${p}a`, "once"),
      result(`${p}2`, `${p}a`, "twice"),
      said(`${p}end`, "Done."),
    ],
    (p) => ({ findings: [duplicate(`${p}a`)], kept: ["Done."] }),
  ),
  edited(
    "a queued message of the user landed between call and result",
    (p) => [
      ai(`${p}ai`, [`${p}a`, "look"]),
      human(`${p}steer`, "Be quick."),
      result(`${p}1`, `${p}a`, `late ${p}`),
      said(`${p}end`, "Done."),
    ],
    (p) => ({ findings: [misplaced(`${p}a`)], kept: [`late ${p}`, "Be quick.", "Done."] }),
  ),
  edited(
    "one of two results came late",
    (p) => [
      ai(`${p}ai`, [`${p}a`, "look"], [`${p}b`, "look"]),
      result(`${p}2`, `${p}b`, `second ${p}`),
      human(`${p}h`, "And the first?"),
      said(`${p}end`, "It comes."),
      result(`${p}1`, `${p}a`, `first ${p}`),
    ],
    (p) => ({ findings: [misplaced(`${p}a`)], kept: [`first ${p}`, `second ${p}`, "And the first?"] }),
  ),
  {
    name: "an id was used again, and the second call has no result",
    agents: PLAIN,
    make: async (driver, p) => {
      await driver.work([look(p)]);
      await driver.edit([human(`${p}h`), ai(`${p}ai`, [`${p}l`, "read"]), human(`${p}i`, "Well?")]);
      return { findings: [dangling(`${p}l`)], kept: [`look done ${p}`, "Well?"] };
    },
  },
  edited(
    "only the result of a hand-off survived",
    (p) => [
      ai(`${p}ai`, [`${p}add`, "look"], [`${p}t`, "transfer_to_bob"]),
      result(`${p}1`, `${p}t`, "Transferred.", "transfer_to_bob"),
      said(`${p}end`, "I am Bob."),
    ],
    (p) => ({ findings: [dangling(`${p}add`)], kept: ["Transferred.", "I am Bob."] }),
  ),
  edited(
    "a declined call has its result, and a free call of its batch has none",
    (p) => [
      ai(`${p}ai`, [`${p}i`, "pay"], [`${p}free`, "look"]),
      result(`${p}1`, `${p}i`, "The user declined.", "pay"),
      human(`${p}h`),
    ],
    (p) => ({ findings: [dangling(`${p}free`)], kept: ["The user declined."] }),
  ),
  {
    name: "a stream ended in the middle of the arguments",
    agents: FRAIL,
    make: async (driver, p) => {
      await driver.work([{ id: `${p}cut`, name: "store", isCut: true }]);
      await driver.say("Well?");
      return { findings: [dangling(`${p}cut`)], kept: ["Well?"] };
    },
  },
  edited(
    "the arguments were cut off, and the call has an error result",
    (p) => [
      new AIMessage({
        id: `${p}ai`,
        content: "",
        invalid_tool_calls: [
          { id: `${p}cut`, name: "store", args: '{"value": "# Read', type: "invalid_tool_call" },
        ],
      }),
      result(`${p}1`, `${p}cut`, `cut ${p}`, "store"),
      human(`${p}h`),
    ],
    (p) => ({ findings: [{ code: "content/arguments", callId: `${p}cut` }], kept: [`cut ${p}`] }),
  ),
  edited(
    "a structured response left its call without a result",
    (p) => [ai(`${p}ai`, [`${p}s`, "extract"]), human(`${p}h`)],
    (p) => ({ findings: [dangling(`${p}s`)] }),
  ),
  {
    name: "a value is nested too deep to be read again",
    agents: FULL,
    make: async (driver, p) => {
      await driver.work([{ id: `${p}deep`, name: "store", args: { value: nested(70) } }]);
      return { findings: [bricked, { code: "content/too-deep" }], kept: ["store done"] };
    },
  },
];
