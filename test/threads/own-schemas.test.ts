import { Annotation, DeltaValue, StateSchema, UntrackedValue } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { createAgentGraph } from "../../src/index.js";
import { readStateSchema } from "../../src/threads/own-state.js";
import { agentStateSchema } from "../../src/threads/state.js";

const built = (options: object) => () => createAgentGraph({ model: "offline:", ...options });

describe("`stateSchema`", () => {
  const channels = Object.keys(agentStateSchema.shape);
  const nodes = Object.keys(createAgentGraph({ model: "offline:" }).nodes);
  it.each(["messages", "__root__", ...channels, ...nodes])("has no key `%s`", (key) => {
    expect(built({ stateSchema: z.object({ [key]: z.string() }) })).toThrow(
      `Expected \`stateSchema\` to have keys of its own, got \`${key}\`, which the graph uses itself.`,
    );
    expect(built({ stateSchema: new StateSchema({ [key]: z.string() }) })).toThrow(`got \`${key}\``);
  });

  it.each([
    ["a text", "plan"],
    ["a schema of another kind", z.array(z.string())],
    ["an annotation", Annotation.Root({ plan: Annotation<string> })],
    ["fields alone", { plan: z.string() }],
  ])("is not %s", (_, stateSchema) => {
    expect(built({ stateSchema })).toThrow(
      "Expected `stateSchema` to be a zod object or a `StateSchema`, got",
    );
  });

  it("is read once, so that a server can make a graph for each run", () => {
    const schema = z.object({ plan: z.string() });
    expect(readStateSchema(schema)).toBe(readStateSchema(schema));
    const [one, other] = [built({ stateSchema: schema })(), built({ stateSchema: schema })()];
    expect(one.builder._schemaRuntimeDefinition).toBe(other.builder._schemaRuntimeDefinition);
    const context = z.object({ userId: z.string() });
    const contextOf = (options: object) =>
      Reflect.get(built({ contextSchema: context, ...options })().builder, "_configRuntimeSchema");
    expect(contextOf({})).toBe(contextOf({}));
    expect(contextOf({ maxToolCalls: 3 })).not.toBe(contextOf({}));
  });
});

describe("a key", () => {
  const upper = z.string().transform((text) => text.toUpperCase());
  const rejecting = z.string().refine(async (text) => text !== "no", "it must not be no");
  const throwing = z.string().transform(() => {
    throw new Error("broken");
  });
  const state = readStateSchema(
    new StateSchema({
      upper,
      rejecting,
      throwing,
      deep: z.any(),
      nested: z.object({ steps: z.array(z.object({ name: z.string() })) }),
      untracked: new UntrackedValue(z.number()),
      delta: new DeltaValue(z.array(z.number()).default([]), {
        reducer: (all, writes: number[][]) => [...all, ...writes.flat()],
      }),
    }),
  );
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) });

  it("gets what its schema makes of a value", async () => {
    expect(await state.read("upper", "go")).toBe("GO");
    expect(await state.read("rejecting", "go")).toBe("go");
    expect(await state.read("untracked", 7)).toBe(7);
    expect(await state.read("delta", [7])).toEqual([7]);
    expect(await state.read("delta", { __overwrite__: [8] })).toEqual({ __overwrite__: [8] });
    expect(await state.read("upper", { __overwrite__: "go" })).toBe("GO");
  });

  it.each([
    ["rejecting", "no", "Expected `rejecting` to match `stateSchema`: it must not be no."],
    ["throwing", "go", "Expected `throwing` to match `stateSchema`: broken."],
    [
      "untracked",
      "7",
      "Expected `untracked` to match `stateSchema`: Invalid input: expected number, received string.",
    ],
    [
      "delta",
      ["7"],
      "Expected `delta[0]` to match `stateSchema`: Invalid input: expected number, received string.",
    ],
    [
      "nested",
      { steps: [{ name: "a" }, { name: 7 }] },
      "Expected `nested.steps[1].name` to match `stateSchema`: Invalid input: expected string, received number.",
    ],
    ["deep", deep(60), "Expected `deep` to be nested at most 40 levels deep."],
  ])("refuses a value that does not match: %s", async (key, value, message) => {
    await expect(state.read(key, value)).rejects.toMatchObject({ code: "INVALID_STATE", key, message });
  });

  it("can have a schema of zod 3", async () => {
    const old = readStateSchema(z3.object({ plan: z3.string(), count: z3.number().default(7) }) as never);
    expect(await old.read("plan", "go")).toBe("go");
    await expect(old.read("plan", 7)).rejects.toThrow("Expected `plan` to match `stateSchema`");
    expect(old.channels["count"]?.get()).toBe(7);
  });

  it("has a default of its own in each thread", () => {
    const { channels } = readStateSchema(z.object({ list: z.array(z.string()).default(() => []) }));
    const copies = [channels["list"]?.fromCheckpoint(), channels["list"]?.fromCheckpoint()];
    expect(copies.map((channel) => channel?.get())).toEqual([[], []]);
    expect(copies[0]?.get()).not.toBe(copies[1]?.get());
  });
});
