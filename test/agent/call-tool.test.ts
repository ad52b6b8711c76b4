import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { ToolMessage } from "@langchain/core/messages";
import * as imported from "@langchain/core/tools";
import { type StructuredToolInterface, type ToolRuntime, tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callTool } from "../../src/agent/calls/call.js";
import { finalizeCall, resultOf } from "../../src/agent/calls/result.js";

const required: typeof imported = createRequire(import.meta.url)("@langchain/core/tools");
const call = { id: "c1", name: "probe", args: {}, place: "a:0" };
const untimed = { toolTimeoutMs: undefined };
const timed = { toolTimeoutMs: 20 };

const TIMED_OUT = {
  kind: "timed-out",
  milliseconds: 20,
  error: expect.objectContaining({ name: "ToolTimeoutError" }),
};

const make = (run: (runtime: ToolRuntime) => Promise<unknown>) =>
  tool(async (_args, runtime: ToolRuntime) => run(runtime), {
    name: "probe",
    description: "probe",
    schema: z.object({}),
  });

describe("callTool", () => {
  it("gives the tool its call's id, and the signal of the run", async () => {
    const seen: unknown[] = [];
    const controller = new AbortController();
    const probe = make(async ({ toolCallId, signal }) => {
      seen.push(toolCallId, signal?.aborted);
      controller.abort(new Error("cancelled"));
      seen.push(signal?.aborted);
      return "too late";
    });
    const outcome = await callTool(probe, call, untimed, { signal: controller.signal });
    expect(outcome).toMatchObject({ kind: "returned", value: { content: "too late" } });
    expect(seen).toEqual(["c1", false, true]);
  });

  it("does not wait for a tool that is not LangChain's and ignores its timeout", async () => {
    const deaf = { name: "probe", invoke: () => new Promise(() => {}) } as unknown as StructuredToolInterface;
    expect(await callTool(deaf, call, timed, {})).toEqual(TIMED_OUT);
  });

  it("waits for a tool that ignores the abort of its run, without a timeout", async () => {
    const controller = new AbortController();
    let end = (_: string) => {};
    const deaf = make(
      () =>
        new Promise<string>((resolve) => {
          end = resolve;
          controller.abort();
        }),
    );
    const outcome = callTool(deaf, call, timed, { signal: controller.signal });
    await delay(40);
    end("late");
    expect(await outcome).toMatchObject({ kind: "returned", value: { content: "late" } });
  });

  it("reports the timeout, not what the tool throws because of it", async () => {
    const reasons: unknown[] = [];
    const heedful = make(
      ({ signal }) =>
        new Promise((_, reject) =>
          signal?.addEventListener("abort", () => {
            reasons.push(String(signal.reason));
            reject(new Error("its own words"));
          }),
        ),
    );
    expect(await callTool(heedful, call, timed, {})).toEqual(TIMED_OUT);
    expect(reasons).toEqual(["ToolTimeoutError: The tool did not finish within 20 ms."]);
  });

  it.each([
    ["imported", imported],
    ["required", required],
  ])("names the argument that does not fit, for a tool that was %s", async (_, { tool }) => {
    const sky = tool(({ city }) => city, {
      name: "sky",
      description: "Looks at the sky.",
      schema: z.object({ city: z.string() }),
    });
    const outcome = await callTool(sky, { ...call, name: "sky", args: { city: 3 } }, untimed, {});
    expect(outcome).toEqual({
      kind: "invalid-arguments",
      detail: expect.stringContaining("city"),
      error: expect.objectContaining({ message: expect.stringContaining("city") }),
    });
  });
});

const task = {
  call: { kind: "valid", id: "c1", name: "sky" },
  index: 0,
  place: "m1:0",
  args: {},
  parseError: undefined,
} as const;

it("A given result answers this call, whichever call it names, under an id of its own.", () => {
  const settings = { includeDetailedErrors: false, terminateOnUnknownCalls: false };
  const { result } = finalizeCall(task, { kind: "returned", value: "clear" }, settings);
  const given = new ToolMessage({ id: "taken", tool_call_id: "another", name: "sky", content: "clear" });
  expect(resultOf(task, given)).toMatchObject({ tool_call_id: "c1", id: result.id });
});

it("What is written later into a given result does not reach the thread.", () => {
  const given = new ToolMessage({ tool_call_id: "c1", content: [{ type: "text", text: "clear" }] });
  const message = resultOf(task, given);
  Object.assign(given.content[0] ?? {}, { text: "changed" });
  expect(message.text).toBe("clear");
});
