/** The tools of the deployed agents. */

import { setTimeout as delay } from "node:timers/promises";
import { RemoveMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { z } from "zod";
import { makeTool } from "../make-tool.js";

/** Longer than the tests of a whole deployment. */
const LONGEST_MS = 1_800_000;

/** `createReactAgent` names the call in another way than `createAgent`. */
type Runtime = ToolRuntime & { toolCall?: { id?: string } };

const LABELLED = z.object({ label: z.string().default("-") });

const labelled = (name: string, run: (label: string, runtime: Runtime) => unknown) =>
  makeTool(name, async ({ label }: { label: string }, runtime) => run(label, runtime), LABELLED);

const resultOf = ({ toolCallId, toolCall }: Runtime, name: string, content: string) =>
  new ToolMessage({ content, tool_call_id: toolCallId ?? toolCall?.id ?? "", name });

/** The tools of every agent. */
export const TOOLS = [
  labelled("look", (label) => `look done ${label}`),
  /** Returns a long text. */
  labelled("read", (label) => `read done ${label} ${"lorem ipsum ".repeat(400)}`),
  /** Returns at once, whatever it is given. */
  makeTool("store", async () => "store done", z.object({ value: z.any() })),
  /** Ends when its run is cancelled. */
  labelled("hold", async (_, { signal }) => {
    await delay(LONGEST_MS, undefined, signal === undefined ? {} : { signal });
    return "hold done";
  }),
  /** Removes a message that is not there. Under LangGraph's reducer, nobody can read the thread after that. */
  labelled("forget", (_, runtime) => {
    const removal = new RemoveMessage({ id: "no-such-message" });
    return new Command({ update: { messages: [resultOf(runtime, "forget", "forgotten"), removal] } });
  }),
  /** Asks a human in the middle of its run. */
  labelled("ask", (label) => `asked ${interrupt({ question: label })}`),
  /** Needs the approval of a human, in the way of each agent. */
  labelled("pay", (label) => `paid ${label}`),
];

/** Writes the key `counter` of the state. */
export const COUNT = makeTool(
  "count",
  async ({ value }: { value: number }, runtime) => {
    const messages = [resultOf(runtime, "count", `counted ${value}`)];
    return new Command({ update: { counter: value, messages } });
  },
  z.object({ value: z.number() }),
);
