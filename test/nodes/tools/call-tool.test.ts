import { type StructuredToolInterface, type ToolRuntime, tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { runTool, ToolTimeoutError } from "../../../src/nodes/tools/call-tool.js";

const call = { id: "c1", name: "probe", args: {}, type: "tool_call" as const };

const make = (run: (runtime: ToolRuntime) => Promise<unknown>) =>
  tool(async (_args, runtime: ToolRuntime) => run(runtime), {
    name: "probe",
    description: "probe",
    schema: z.object({}),
  });

describe("runTool", () => {
  it("gives the tool its call's id, and the signal of the run", async () => {
    const seen: unknown[] = [];
    const controller = new AbortController();
    const probe = make(async ({ toolCallId, signal }) => {
      seen.push(toolCallId, signal?.aborted);
      controller.abort(new Error("cancelled"));
      seen.push(signal?.aborted);
      return "too late";
    });
    await expect(runTool(probe, call, { signal: controller.signal }, undefined)).rejects.toThrow("cancelled");
    expect(seen).toEqual(["c1", false, true]);
  });

  it("does not wait for a tool that is deaf to its timeout", async () => {
    const deaf = make(() => new Promise(() => {}));
    await expect(runTool(deaf, call, {}, 20)).rejects.toBeInstanceOf(ToolTimeoutError);
  });

  it.each(["timeout", "abort"])(
    "does not wait for a tool of other making that is deaf to its %s",
    async (end) => {
      const deaf = {
        name: "probe",
        invoke: () => new Promise(() => {}),
      } as unknown as StructuredToolInterface;
      const run = runTool(
        deaf,
        call,
        end === "abort" ? { signal: AbortSignal.timeout(20) } : {},
        end === "abort" ? undefined : 20,
      );
      await expect(run).rejects.toThrow(/20 ms|timeout/);
    },
  );

  it("reports the timeout, not what the tool throws because of it", async () => {
    const heedful = make(
      ({ signal }) =>
        new Promise((_, reject) =>
          signal?.addEventListener("abort", () => reject(new Error("its own words"))),
        ),
    );
    await expect(runTool(heedful, call, {}, 20)).rejects.toBeInstanceOf(ToolTimeoutError);
  });

  it("passes on what the tool throws before it", async () => {
    const failing = make(async () => {
      throw new RangeError("too far");
    });
    await expect(runTool(failing, call, {}, 1000)).rejects.toThrow(new RangeError("too far"));
  });

  it("does not begin in a run that was aborted before", async () => {
    let ran = false;
    const probe = make(async () => {
      ran = true;
    });
    const run = runTool(probe, call, { signal: AbortSignal.abort(new Error("before")) }, undefined);
    await expect(run).rejects.toThrow("before");
    expect(ran).toBe(false);
  });
});
