/** Function middleware sees calls of tools that the graph does not have, and the errors that tools threw. */

import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, functionMiddleware } from "../../../src/index.js";
import { results } from "../../support/batch.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const { fast } = createProbe();

describe("a call of a tool that the graph does not have", () => {
  const UNKNOWN = "Error: there is no tool named `slow`. The tools are: fast.";

  it("can be answered by a function middleware", async () => {
    const seen: unknown[] = [];
    const serve = functionMiddleware(async (context) => {
      seen.push([context.call.name, context.arguments, context.tool]);
      context.result = "served";
    });
    const [result] = await results({ tools: [fast], middleware: [serve] }, ["slow", { x: 1 }]);
    expect([result?.text, result?.name]).toEqual(["served", "slow"]);
    expect(seen).toEqual([["slow", { x: 1 }, undefined]]);
  });

  it("has an error as its result if no middleware answers it", async () => {
    const seen: (string | undefined)[] = [];
    const pass = functionMiddleware(async (context, next) => {
      await next();
      seen.push(context.result?.text);
    });
    const [result] = await results({ tools: [fast], middleware: [pass] }, ["slow"]);
    expect([result?.text, result?.status, seen]).toEqual([UNKNOWN, "error", [UNKNOWN]]);
  });

  it.each([
    [true, ["ai> slow", "tool: served", "ai: done"]],
    [false, ["ai> slow", `tool! ${UNKNOWN}`]],
  ])(
    "ends the run with `terminateOnUnknownCalls` only if it is not answered: %s",
    async (isServed, lines) => {
      const serve = functionMiddleware(async (context, next) => {
        await next();
        if (isServed) context.result = "served";
      });
      const model = scripted(calls(["slow"]), ...(isServed ? ["done"] : []));
      const graph = createAgentGraph({
        model,
        tools: [fast],
        middleware: [serve],
        terminateOnUnknownCalls: true,
      });
      expect(pairedScript(await graph.invoke(user("go"))).slice(1)).toEqual(lines);
    },
  );

  it("waits for approval like any other, if a middleware may answer it", async () => {
    const served: string[] = [];
    const serve = functionMiddleware(async (context) => {
      served.push(context.call.name);
      context.result = "served";
    });
    const graph = createAgentGraph({
      model: scripted(calls(["slow"]), "done"),
      tools: [fast],
      middleware: [serve],
      requireApproval: () => true,
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: "1" } };
    expect(await graph.invoke(user("go"), config)).toHaveProperty("__interrupt__");
    expect(served).toEqual([]);
    const resume = { decisions: [{ type: "approve" }] };
    expect(pairedScript(await graph.invoke(new Command({ resume }), config)).at(-1)).toBe("ai: done");
    expect(served).toEqual(["slow"]);
  });
});

describe("the error of the last attempt", () => {
  class BusyError extends Error {
    override readonly name = "BusyError";
  }

  it("lets a middleware retry by its class", async () => {
    const thrown: unknown[] = [];
    const errors = [new BusyError("1"), new BusyError("2"), new Error("for good")];
    const flaky = tool(
      async () => {
        throw errors.shift();
      },
      { name: "flaky", description: "flaky", schema: z.object({}) },
    );
    const retry = functionMiddleware(
      async (context, next) => {
        do {
          await next();
          thrown.push(context.error);
        } while (context.error instanceof BusyError);
      },
      { retry: true },
    );
    const [result] = await results({ tools: [flaky], middleware: [retry], includeDetailedErrors: true }, [
      "flaky",
    ]);
    expect(thrown.map(String)).toEqual(["BusyError: 1", "BusyError: 2", "Error: for good"]);
    expect(result?.text).toContain("for good");
  });

  it.each<[title: string, run: () => Promise<unknown>, name: string | undefined]>([
    ["of a tool that took too long", () => new Promise(() => {}), "ToolTimeoutError"],
    ["of a tool that returned", async () => "given", undefined],
    [
      "of a value that is no error",
      async () => {
        throw "a text";
      },
      "a text",
    ],
  ])("is that %s", async (_title, run, name) => {
    let error: unknown = "not set";
    const give = tool(run, { name: "give", description: "give", schema: z.object({}) });
    const watch = functionMiddleware(async (context, next) => {
      await next();
      error = context.error;
    });
    await results({ tools: [give], middleware: [watch], toolTimeoutMs: 50 }, ["give"]);
    expect(error instanceof Error ? error.name : error).toBe(name);
  });

  it("names the arguments that the tool's schema refused", async () => {
    let error: unknown;
    const watch = functionMiddleware(async (context, next) => {
      await next();
      error = context.error;
    });
    await results({ tools: [fast], middleware: [watch] }, ["fast", { label: 5 }]);
    expect(String(error)).toContain("did not match expected schema");
  });
});
