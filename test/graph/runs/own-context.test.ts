/** Own keys of a run's `context`, and what of a parent's context the tools of a subgraph see. */

import { type ToolRuntime, tool } from "@langchain/core/tools";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraph, agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const whoami = tool((_, { context }: ToolRuntime) => JSON.stringify(context), {
  name: "whoami",
  description: "Tells the context.",
  schema: z.object({}),
});
const contextSchema = z.object({ userId: z.string(), locale: z.string().default("en") });
const resultIn = (values: unknown) => pairedScript(values).find((line) => line.startsWith("tool"));
const once = () => scripted(calls(["whoami"]), "done");

describe("the own keys of a context", () => {
  it("reach the tools with their defaults, beside the settings of the run", async () => {
    const agent = createAgentGraph({ model: once(), tools: [whoami], contextSchema });
    const result = await agent.invoke(user("hi"), { context: { userId: "u1", maxIterations: 3 } });
    expect(resultIn(result)).toBe('tool: {"userId":"u1","locale":"en","maxIterations":3}');
  });

  it("are not among the options that an agent middleware can replace", async () => {
    const options: unknown[] = [];
    const middleware = agentMiddleware(async (context, next) => {
      options.push({ ...context.options });
      context.options = {};
      await next();
    });
    const agent = createAgentGraph({
      model: once(),
      tools: [whoami],
      contextSchema,
      middleware: [middleware],
    });
    const result = await agent.invoke(user("hi"), { context: { userId: "u1", maxIterations: 3 } });
    expect(options).toEqual([{ maxIterations: 3 }]);
    expect(resultIn(result)).toBe('tool: {"userId":"u1","locale":"en"}');
  });

  it.each([
    [
      { userId: 7 },
      "Expected `context.userId` to match `contextSchema`: Invalid input: expected string, received number.",
    ],
    [
      undefined,
      "Expected `context.userId` to match `contextSchema`: Invalid input: expected string, received undefined.",
    ],
    [{ userId: "u1", usrId: "u2" }, "Unknown setting `usrId`. Did you mean `userId`?"],
    [
      { userId: "u1", maxIterations: "3" },
      'Expected `maxIterations` to be an integer of 1 or more, got `"3"`.',
    ],
  ])("are refused before the run begins: %j", async (context, message) => {
    const agent = createAgentGraph({ model: "offline:", contextSchema });
    await expect(agent.invoke(user("hi"), { context: context as never })).rejects.toMatchObject({
      code: "INVALID_SETTING",
      message,
    });
  });

  it("must not be settings of a run", () => {
    const clash = z.object({ maxIterations: z.number() });
    expect(() => createAgentGraph({ model: "offline:", contextSchema: clash })).toThrow(
      "Expected `contextSchema` to have keys of its own, got `maxIterations`, which is a setting of a run.",
    );
  });
});

it("an unknown key is refused without a `contextSchema`", async () => {
  const agent = createAgentGraph({ model: "offline:" });
  const run = agent.invoke(user("hi"), { context: { userId: "u1" } as never });
  await expect(run).rejects.toThrow(/^Unknown setting `userId`/);
});

describe("the context of a parent graph", () => {
  const parentOf = (child: AgentGraph) =>
    new StateGraph(
      MessagesAnnotation,
      z.object({ userId: z.any(), tenant: z.any(), maxIterations: z.any() }).partial(),
    )
      .addNode("child", child)
      .addEdge(START, "child")
      .compile();

  it("reaches the tools whole", async () => {
    const parent = parentOf(createAgentGraph({ model: once(), tools: [whoami] }));
    const result = await parent.invoke(user("hi"), { context: { userId: "u1", tenant: { id: 1 } } as never });
    expect(resultIn(result)).toBe('tool: {"userId":"u1","tenant":{"id":1}}');
  });

  it("is checked by the schema of the agent, which adds its defaults", async () => {
    const child = createAgentGraph({ model: once(), tools: [whoami], contextSchema });
    const context = { userId: "u1", tenant: "t" };
    const result = await parentOf(child as never).invoke(user("hi"), { context: context as never });
    expect(JSON.parse(resultIn(result)?.slice(6) ?? "")).toEqual({ ...context, locale: "en" });
    const refused = createAgentGraph({ model: "offline:", contextSchema });
    await expect(
      parentOf(refused as never).invoke(user("hi"), { context: { userId: 7 } as never }),
    ).rejects.toThrow("Expected `context.userId` to match `contextSchema`");
  });

  it("keeps its settings only as far as an agent middleware keeps them", async () => {
    const child = createAgentGraph({
      model: once(),
      tools: [whoami],
      middleware: [
        agentMiddleware(async (context, next) => {
          context.options = {};
          await next();
        }),
      ],
    });
    const result = await parentOf(child).invoke(user("hi"), {
      context: { userId: "u1", maxIterations: 3 } as never,
    });
    expect(resultIn(result)).toBe('tool: {"userId":"u1"}');
  });
});
