/**
 * For any batches of tools that write own keys, return directly, fail or cancel their run: the history is paired, and
 * the own keys have what the tools with a result wrote, in the order of their calls.
 */

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { isPlaceholder, isResult } from "../../src/history/result.js";
import { createAgentGraph } from "../../src/index.js";
import { FunctionModel } from "../support/models.js";
import { law } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";

interface Wanted {
  readonly name: "write" | "direct" | "plain" | "cancel";
  /** What a writing tool does beside writing. */
  readonly manner: "silent" | "says" | "unknown-key" | "bad-value" | "throws";
  /** How many turns of the event loop the tool takes. */
  readonly ticks: number;
}

const wanted: fc.Arbitrary<Wanted> = fc.record({
  name: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("write" as const, "direct" as const, "plain" as const) },
    { weight: 1, arbitrary: fc.constant("cancel" as const) },
  ),
  manner: fc.constantFrom("silent", "says", "unknown-key", "bad-value", "throws"),
  ticks: fc.nat({ max: 4 }),
});
const batch = fc.array(wanted, { minLength: 1, maxLength: 5 });
const turns = fc.array(fc.array(batch, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });

const lines = z.array(z.string());
const stateSchema = new StateSchema({
  last: z.string().optional(),
  log: new ReducedValue(
    lines.default(() => []),
    {
      inputSchema: lines,
      reducer: (log, added) => [...log, ...added],
    },
  ),
});

type Args = Pick<Wanted, "manner" | "ticks">;
const schema = z.object({ manner: z.string(), ticks: z.number() }) as unknown as z.ZodType<Args>;

async function write({ manner, ticks }: Args, { toolCallId }: ToolRuntime) {
  await pause(ticks);
  if (manner === "throws") throw new Error("no");
  const update = {
    last: toolCallId,
    log: [toolCallId],
    ...(manner === "unknown-key" && { lgo: [toolCallId] }),
    ...(manner === "says" && { messages: [new ToolMessage({ content: "said", tool_call_id: toolCallId })] }),
  };
  return new Command({ update: manner === "bad-value" ? { ...update, last: 7 } : update });
}

async function pause(ticks: number): Promise<void> {
  for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setTimeout(resolve));
}

const writesOf = (messages: readonly BaseMessage[], manners: ReadonlyMap<string, Wanted>) =>
  messages.flatMap((message) => {
    const call = isResult(message) ? manners.get(message.tool_call_id) : undefined;
    const hasWritten = call?.manner !== "throws" && (call?.name === "write" || call?.name === "direct");
    return isResult(message) && hasWritten && !isPlaceholder(message)
      ? [{ id: message.tool_call_id, call }]
      : [];
  });

law("The own keys agree with the history", 25, [turns], async (given) => {
  const made = new Map<string, Wanted>();
  let batches: (readonly Wanted[])[] = [];
  let asked = 0;
  const model = new FunctionModel(() => {
    asked += 1;
    const batch = batches.shift();
    if (batch === undefined) return "done";
    const tool_calls = batch.map((call) => {
      const id = `call_${made.size}`;
      made.set(id, call);
      return {
        id,
        name: call.name,
        args: { manner: call.manner, ticks: call.ticks },
        type: "tool_call" as const,
      };
    });
    return new AIMessage({ content: "", tool_calls });
  });
  let abort = new AbortController();
  const about = (name: string) => ({ name, description: name, schema });
  const agent = createAgentGraph({
    model,
    tools: [
      tool(write, about("write")),
      tool(write, { ...about("direct"), returnDirect: true }),
      tool(({ ticks }: Args) => pause(ticks).then(() => "plain"), about("plain")),
      tool(async ({ ticks }: Args) => {
        await pause(ticks);
        abort.abort();
        return "cancelled";
      }, about("cancel")),
    ],
    stateSchema,
    maxConsecutiveErrors: 100,
    checkpointer: new MemorySaver(),
  });
  for (const turn of given) {
    batches = [...turn];
    asked = 0;
    abort = new AbortController();
    const isCancelled = await agent.invoke(user("go on"), { ...inThread("1"), signal: abort.signal }).then(
      () => false,
      () => true,
    );
    const direct = turn.findIndex((batch) =>
      batch.every(({ name, manner }) => name === "direct" && (manner === "silent" || manner === "says")),
    );
    if (!isCancelled) expect(asked).toBe(direct === -1 ? turn.length + 1 : direct + 1);
  }
  batches = [];
  const result = await agent.invoke(user("end"), inThread("1"));
  const writes = writesOf(pairedMessagesOf(result), made);
  // What a tool wrote after the abort of its run comes after what later calls wrote.
  expect(result.log.toSorted()).toEqual(writes.map(({ id }) => id).toSorted());
  expect(result.last).toBe(result.log.findLast((id) => made.get(id)?.manner !== "bad-value"));
  expect(model.refused).toEqual([]);
});
