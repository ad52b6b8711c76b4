/** The types that follow from `stateSchema` and `contextSchema`. `tsc -p .` checks them. */

import type { BaseMessage } from "@langchain/core/messages";
import { Command, MemorySaver, ReducedValue, StateSchema } from "@langchain/langgraph";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type AgentGraph, createAgentGraph } from "../../src/index.js";

const stateSchema = z.object({ plan: z.string(), count: z.number().default(0) });
const contextSchema = z.object({ userId: z.string(), locale: z.string().default("en") });
const create = () =>
  createAgentGraph({ model: "offline:", stateSchema, contextSchema, checkpointer: new MemorySaver() });

interface Values {
  messages: BaseMessage[];
  plan: string;
  count: number;
}

const thread = { configurable: { thread_id: "1" }, context: { userId: "u1" } };
const input = { messages: "hello" };

/** Checked by the compiler, never called. */
function compiles(_calls: () => unknown): void {}

describe("Own keys of the state", () => {
  it("are in the result, in the state and in the chunks", async () => {
    const agent = create();
    const result = await agent.invoke({ ...input, plan: "go" }, thread);
    expectTypeOf(result).toEqualTypeOf<Values>();
    const { values } = await agent.getState(thread);
    expectTypeOf(values).toEqualTypeOf<{ messages: BaseMessage[]; plan?: string; count?: number }>();
    expect(values).toMatchObject({ plan: "go", count: 0 });
    compiles(async () => {
      for await (const chunk of await agent.stream(input, { ...thread, streamMode: "values" }))
        expectTypeOf(chunk).toEqualTypeOf<Values>();
      for await (const chunk of await agent.stream(input, thread))
        expectTypeOf(chunk.tools?.plan).toEqualTypeOf<string | undefined>();
      const run = await agent.streamEvents(input, { ...thread, version: "v3" });
      expectTypeOf(await run.output).toEqualTypeOf<Values>();
    });
  });

  it("are checked in the input and in a command", () => {
    compiles(async () => {
      const agent = create();
      await agent.invoke({ ...input, plan: "go", count: 1 });
      await agent.invoke(new Command({ update: { plan: "go" } }));
      await agent.invoke(new Command({ resume: { decisions: [] } }));
      // @ts-expect-error A plan is a text.
      await agent.invoke({ ...input, plan: 7 });
      // @ts-expect-error There is no such key.
      await agent.invoke({ ...input, plna: "go" });
      // @ts-expect-error A plan is a text.
      await agent.invoke(new Command({ update: { plan: 7 } }));
      // @ts-expect-error A plan is a text.
      await agent.stream({ ...input, plan: 7 });
      // @ts-expect-error A plan is a text.
      agent.streamEvents({ ...input, plan: 7 }, { version: "v2" });
    });
  });

  it("can come from a `StateSchema`, where an update can differ from the value", () => {
    compiles(async () => {
      const agent = createAgentGraph({
        model: "offline:",
        stateSchema: new StateSchema({
          log: new ReducedValue(
            z.array(z.string()).default(() => []),
            { inputSchema: z.string(), reducer: (log, line) => [...log, line] },
          ),
        }),
      });
      const result = await agent.invoke({ ...input, log: "line" });
      expectTypeOf(result.log).toEqualTypeOf<string[]>();
      // @ts-expect-error A line is a text.
      await agent.invoke({ ...input, log: 7 });
    });
  });

  it("do not keep an agent from being used as any agent", () => {
    compiles(() => {
      const agent: AgentGraph = createAgentGraph({ model: "offline:", stateSchema });
      return agent;
    });
  });
});

describe("Own keys of the context", () => {
  it("are checked beside the settings of a run", () => {
    compiles(async () => {
      const agent = create();
      await agent.invoke(input, { context: { userId: "u1", maxIterations: 3 } });
      await agent.withConfig({ context: { userId: "u1", locale: "de" } }).invoke(input);
      // @ts-expect-error The id is missing.
      await agent.invoke(input, { context: { maxIterations: 3 } });
      // @ts-expect-error An id is a text.
      await agent.invoke(input, { context: { userId: 7 } });
      // @ts-expect-error There is no such key.
      await agent.stream(input, { context: { userId: "u1", user: "u1" } });
      // @ts-expect-error An id is a text.
      agent.streamEvents(input, { version: "v2", context: { userId: 7 } });
    });
  });
});
