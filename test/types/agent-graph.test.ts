/** `tsc -p .` checks these types: vitest runs the file without looking at them. A run of it shows that they are true. */

import type { BaseMessage } from "@langchain/core/messages";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import { Command, type Interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { z } from "zod";
import {
  type AgentEvent,
  type AgentGraph,
  createAgentGraph,
  type OwnChunk,
  type RunContext,
} from "../../src/index.js";
import type { runContextSchema } from "../support/internals.js";
import { createProbe } from "../support/tools.js";

const options = { model: "offline:", tools: [createProbe().fast], requireApproval: ["fast"] };
const create = () => createAgentGraph({ ...options, checkpointer: new MemorySaver() });
const thread = { configurable: { thread_id: "1" } };
const input = { messages: "call fast" };

/** Checked by the compiler, never called. */
function compiles(_calls: (agent: AgentGraph) => unknown): void {}

describe("The input of a run", () => {
  it("is messages, a command or null", () => {
    expectTypeOf<AgentGraph["invoke"]>().parameter(0).not.toBeAny();
    compiles(async (agent) => {
      await agent.invoke({ messages: "hi" });
      await agent.invoke({ messages: [{ role: "user", content: "hi" }] });
      await agent.invoke({ messages: [["user", "hi"]] });
      await agent.invoke(new Command({ resume: { decisions: [] } }));
      await agent.invoke(new Command({ goto: "model", update: { messages: [] } }));
      await agent.stream(null, { ...thread, streamMode: "values" });
      agent.streamEvents(null, { ...thread, version: "v2" });
    });
  });

  it("is nothing else", () => {
    compiles(async (agent) => {
      // @ts-expect-error The key is misspelt.
      await agent.invoke({ message: "hi" });
      // @ts-expect-error No messages.
      await agent.invoke({});
      // @ts-expect-error Messages do not come alone.
      await agent.invoke("hi");
      // @ts-expect-error A number is no message.
      await agent.invoke({ messages: [7] });
      // @ts-expect-error The key is misspelt.
      await agent.stream({ message: "hi" });
      // @ts-expect-error The key is misspelt.
      agent.streamEvents({ message: "hi" }, { version: "v2" });
    });
  });
});

describe("The context of a run", () => {
  it("has the settings of a run, each documented, as the schema has them", () => {
    expectTypeOf<RunContext>().toEqualTypeOf<z.infer<typeof runContextSchema>>();
    compiles(async (agent) => {
      const context: RunContext = { maxIterations: 3, toolChoice: "none" };
      await agent.invoke(input, { context });
      const configured = agent.withConfig({ context }).withConfig({ tags: ["a"] });
      await configured.invoke(input);
    });
  });

  it("has no other key and no other value", () => {
    compiles(async (agent) => {
      // @ts-expect-error The key is misspelt.
      await agent.invoke(input, { context: { maxIteration: 3 } });
      // @ts-expect-error The limit is a number.
      await agent.invoke(input, { context: { maxIterations: "3" } });
      // @ts-expect-error The key is misspelt.
      await agent.stream(input, { context: { maxIteration: 3 }, streamMode: ["values", "custom"] });
      // @ts-expect-error The key is misspelt.
      agent.streamEvents(input, { version: "v2", context: { maxIteration: 3 } });
      // @ts-expect-error The key is misspelt.
      agent.withConfig({ context: { maxIteration: 3 } });
    });
  });
});

describe("What a run gives", () => {
  it("is the messages of the thread, from `invoke`, from `batch` and in the state", async () => {
    const agent = create();
    const { values } = await agent.getState(thread);
    expectTypeOf(values).toEqualTypeOf<{ messages: BaseMessage[] }>();
    expect(values).toEqual({ messages: [] });
    const result = await agent.invoke({ messages: "hello" }, thread);
    expectTypeOf(result).toEqualTypeOf<{ messages: BaseMessage[] }>();
    const results = await agent.batch([{ messages: "hello" }], { ...thread, context: { maxIterations: 3 } });
    expectTypeOf(results).toEqualTypeOf<{ messages: BaseMessage[] }[]>();
    expect([result, ...results].map(Object.keys)).toEqual([["messages"], ["messages"]]);
    // @ts-expect-error The key is misspelt.
    compiles((given) => given.batch([{ message: "hi" }]));
    // @ts-expect-error The key is misspelt.
    compiles((given) => given.batch([input], { context: { maxIteration: 3 } }));
    compiles(async (given) => {
      const settled = await given.batch([input], {}, { returnExceptions: true });
      expectTypeOf(settled).toEqualTypeOf<({ messages: BaseMessage[] } | Error)[]>();
    });
  });

  it("comes as the updates of nodes, whose names are known", async () => {
    const agent = create();
    const seen = new Set<string>();
    for (const given of [input, new Command({ resume: { decisions: [{ type: "reject" }] } })]) {
      for await (const chunk of await agent.stream(given, { ...thread, streamMode: "updates" })) {
        type Node = "patch" | "summarize" | "model" | "approve" | "tools";
        expectTypeOf<keyof typeof chunk>().toEqualTypeOf<Node | "__interrupt__">();
        expectTypeOf(chunk.approve).toEqualTypeOf<{ messages?: BaseMessage[] } | undefined>();
        expectTypeOf(chunk.__interrupt__).toEqualTypeOf<Interrupt[] | undefined>();
        for (const name of Object.keys(chunk)) seen.add(name);
      }
    }
    expect([...seen]).toEqual(["model", "__interrupt__", "approve"]);
  });

  it("comes as updates where no mode is named", async () => {
    for await (const chunk of await create().stream({ messages: "hello" }, thread)) {
      expectTypeOf(chunk.model).toEqualTypeOf<{ messages?: BaseMessage[] } | undefined>();
      expect(Object.keys(chunk)).toEqual(["model"]);
    }
  });

  it("comes as values, messages and events of the agent, with its path where subgraphs are streamed", () => {
    compiles(async (agent) => {
      const nested = { streamMode: "custom", subgraphs: true } as const;
      for await (const [path, chunk] of await agent.stream(input, nested)) {
        expectTypeOf(path).toEqualTypeOf<string[]>();
        expectTypeOf(chunk).toEqualTypeOf<AgentEvent | OwnChunk>();
      }
      for await (const chunk of await agent.stream(input, { streamMode: "values" })) {
        expectTypeOf(chunk).toEqualTypeOf<{ messages: BaseMessage[] }>();
      }
      for await (const [message, metadata] of await agent.stream(input, { streamMode: "messages" })) {
        expectTypeOf(message).toEqualTypeOf<BaseMessage>();
        expectTypeOf(metadata).toExtend<Record<string, unknown>>();
      }
      for await (const chunk of await agent.stream(input, { streamMode: "custom" })) {
        expectTypeOf(chunk).toEqualTypeOf<AgentEvent | OwnChunk>();
      }
      for await (const chunk of await agent.stream(input, { encoding: "text/event-stream" })) {
        expectTypeOf(chunk).toEqualTypeOf<Uint8Array>();
      }
      const run = await agent.streamEvents(input, { version: "v3", context: { maxIterations: 3 } });
      expectTypeOf(await run.output).toEqualTypeOf<{ messages: BaseMessage[] }>();
      for await (const event of agent.streamEvents(input, { version: "v2" })) {
        expectTypeOf(event).toEqualTypeOf<StreamEvent>();
      }
    });
  });

  it("comes as what a tool of yours has written, beside the events of the agent", () => {
    compiles(async (agent) => {
      for await (const chunk of await agent.stream(input, { streamMode: "custom" })) {
        if (chunk.type === "call-closed") {
          expectTypeOf(chunk).toExtend<AgentEvent>();
          expectTypeOf(chunk.tool).toEqualTypeOf<string>();
          // @ts-expect-error The event has no such field.
          chunk.progress;
        }
        if (chunk.type === "search:progress") {
          expectTypeOf(chunk).toEqualTypeOf<OwnChunk>();
          expectTypeOf(chunk["share"]).toEqualTypeOf<unknown>();
        }
        if (chunk.type === undefined) expectTypeOf(chunk["progress"]).toEqualTypeOf<unknown>();
        if ("progress" in chunk) expectTypeOf(chunk.progress).toEqualTypeOf<unknown>();
        switch (chunk.type) {
          case "limit-reached":
            expectTypeOf(chunk.limit).toExtend<string>();
            break;
          case "result-recovered":
            expectTypeOf(chunk.callId).toEqualTypeOf<string>();
            break;
        }
        // @ts-expect-error No event has this name.
        if (chunk.type === "run-ended") return;
        const { type } = chunk;
        expectTypeOf<"run-end">().toExtend<typeof type>();
      }
    });
  });

  it("comes with its mode where there are several", async () => {
    const modes = new Set<string>();
    const options = { ...thread, streamMode: ["values", "custom"] as ("values" | "custom")[] };
    for await (const [mode, chunk] of await create().stream({ messages: "hello" }, options)) {
      modes.add(mode);
      if (mode === "custom") expectTypeOf(chunk).toEqualTypeOf<AgentEvent | OwnChunk>();
      else expectTypeOf(chunk).toEqualTypeOf<{ messages: BaseMessage[] }>();
    }
    expect([...modes].sort()).toEqual(["custom", "values"]);
  });
});
