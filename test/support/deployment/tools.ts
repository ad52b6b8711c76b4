/** The tools of the deployed agents. */

import { setTimeout as delay } from "node:timers/promises";
import { RemoveMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { z } from "zod";
import { makeTool } from "../make-tool.js";

const labelled = z.object({ label: z.string().default("-") });
/** Longer than the tests of a whole deployment. */
const LONGEST_MS = 1_800_000;

/** Returns at once. */
const look = makeTool("look", async ({ label }: z.infer<typeof labelled>) => `look done ${label}`, labelled);

/** Returns at once, whatever it is given. */
const store = makeTool("store", async () => "store done", z.object({ value: z.any() }));

/** Returns a long text. */
const read = makeTool(
  "read",
  async ({ label }: z.infer<typeof labelled>) => `read done ${label} ${"lorem ipsum ".repeat(400)}`,
  labelled,
);

/** Ends when its run is cancelled. */
const hold = makeTool(
  "hold",
  async (_: z.infer<typeof labelled>, { signal }: ToolRuntime) => {
    await delay(LONGEST_MS, undefined, signal === undefined ? {} : { signal });
    return "hold done";
  },
  labelled,
);

/** Writes a key of the state. */
const count = makeTool(
  "count",
  async (
    { value }: { value: number },
    { toolCallId, toolCall }: ToolRuntime & { toolCall?: { id?: string } },
  ) =>
    new Command({
      update: {
        counter: value,
        messages: [
          new ToolMessage({
            content: `counted ${value}`,
            tool_call_id: toolCallId ?? toolCall?.id ?? "",
            name: "count",
          }),
        ],
      },
    }),
  z.object({ value: z.number() }),
);

/** Removes a message that is not there. Under LangGraph's reducer, nobody can read the thread after that. */
const forget = makeTool(
  "forget",
  async (
    _: z.infer<typeof labelled>,
    { toolCallId, toolCall }: ToolRuntime & { toolCall?: { id?: string } },
  ) =>
    new Command({
      update: {
        messages: [
          new ToolMessage({
            content: "forgotten",
            tool_call_id: toolCallId ?? toolCall?.id ?? "",
            name: "forget",
          }),
          new RemoveMessage({ id: "no-such-message" }),
        ],
      },
    }),
  labelled,
);

/** Asks a human in the middle of its run. */
const ask = makeTool(
  "ask",
  async ({ label }: z.infer<typeof labelled>) => `asked ${interrupt({ question: label })}`,
  labelled,
);

/** Needs the approval of a human. */
const pay = makeTool("pay", async ({ label }: z.infer<typeof labelled>) => `paid ${label}`, labelled);

/** The tools of every agent. `pay` needs the approval of a human, in the way of each agent. */
export const TOOLS = [look, store, read, hold, forget, ask, pay];
/** Needs the key `counter` in the state. */
export const COUNT = count;
