/** Middleware of one run, and values that are not middleware. */

import { createMiddleware, todoListMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { agentMiddleware, chatMiddleware, createAgentGraph, functionMiddleware } from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";

describe("middleware of a run", () => {
  const note = (lines: string[], name: string) =>
    agentMiddleware(async (_context, next) => {
      lines.push(name);
      await next();
    });

  it("runs inside the graph's middleware, only in that run and not in a nested run", async () => {
    const lines: string[] = [];
    const inner = createAgentGraph({
      model: new FunctionModel(() => "inner"),
      middleware: [note(lines, "inner")],
    });
    const graph = createAgentGraph({
      model: new FunctionModel(({ messages }) =>
        messages.at(-1)?.type === "tool" ? "done" : calls(["fast"]),
      ),
      tools: [createProbe().fast],
      middleware: [
        agentMiddleware(async function nested(_context, next) {
          lines.push("graph");
          await inner.invoke(user("go"));
          await next();
        }),
        functionMiddleware(async (_context, next) => {
          await inner.invoke(user("go"));
          await next();
        }),
      ],
    });
    await graph.invoke(user("go"), { middleware: [note(lines, "run")] });
    expect(lines.splice(0)).toEqual(["graph", "inner", "run", "inner"]);
    await graph.invoke(user("go"));
    expect(lines.splice(0)).toEqual(["graph", "inner", "inner"]);
    for await (const _ of await graph.stream(user("go"), { middleware: [note(lines, "run")] }));
    for await (const _ of graph.streamEvents(user("go"), {
      version: "v2",
      middleware: [note(lines, "run")],
    }));
    expect(lines.filter((line) => line === "run")).toHaveLength(2);
  });

  it.each([
    [[{ kind: "model", name: "x", handle: async () => {} }], "`middleware[0]`"],
    [[() => {}], "`middleware[0]`"],
    [{}, "`middleware`"],
  ])("is refused by name: %j", async (middleware, named) => {
    const model = scripted();
    expect(() => createAgentGraph({ model, middleware: middleware as never })).toThrow(named);
    const run = createAgentGraph({ model }).invoke(user("go"), { middleware: middleware as never });
    await expect(run).rejects.toThrow(named);
  });

  it.each([
    ["todoListMiddleware", todoListMiddleware()],
    ["audit", createMiddleware({ name: "audit", beforeModel: () => undefined })],
    ["tether", tetherMiddleware()],
  ])("of LangChain is refused in a sentence that names it: %s", (name, entry) => {
    expect(() => createAgentGraph({ model: scripted(), middleware: [entry as never] })).toThrow(
      `\`middleware[0]\` is the middleware \`${name}\` of LangChain, which only agents of LangChain take. createAgentGraph takes what agentMiddleware, chatMiddleware and functionMiddleware make. To protect an agent of createAgent, give it \`tetherMiddleware()\` of langgraph-tether/langchain.`,
    );
  });

  it.each([
    [() => agentMiddleware(async () => {}, { retry: true } as never), "`retry`"],
    [() => chatMiddleware(async () => {}, { readOnly: "yes" } as never), "`readOnly`"],
    [() => functionMiddleware({} as never), "functionMiddleware"],
  ])("is refused by its factory: %s", (make, named) => {
    expect(make).toThrow(named);
  });
});
