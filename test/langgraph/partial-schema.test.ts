import { interopParse, interopZodObjectPartial } from "@langchain/core/utils/types";
import { START, StateGraph } from "@langchain/langgraph";
import { schemaMetaRegistry, withLangGraph } from "@langchain/langgraph/zod";
import { expect, it } from "vitest";
import { z } from "zod";
import { keepPartialSchema } from "../../src/langgraph/partial-schema.js";

const createState = () =>
  z.object({
    list: withLangGraph(z.array(z.string()), {
      reducer: { schema: z.string(), fn: (list: string[], text: string) => [...list, text] },
      default: () => [],
    }),
    count: z.number(),
  });

const partialOf = (state: ReturnType<typeof createState>) =>
  interopZodObjectPartial(
    schemaMetaRegistry.getExtendedChannelSchemas(state, { withReducerSchema: true }) as never,
  );

it("LangGraph makes a partial copy of a state's schema for each check, and of a kept one only once", () => {
  const [fresh, kept] = [createState(), keepPartialSchema(createState())];
  expect(partialOf(fresh)).not.toBe(partialOf(fresh));
  expect(partialOf(kept)).toBe(partialOf(kept));
  for (const state of [fresh, kept]) {
    expect(interopParse(partialOf(state), { list: "a" })).toEqual({ list: "a" });
    expect(interopParse(partialOf(state), { count: 1, other: 2 })).toEqual({ count: 1 });
    expect(() => interopParse(partialOf(state), { count: "one" })).toThrow();
  }
});

it("A graph with a kept schema checks its input and what its nodes write", async () => {
  const build = (count: unknown) =>
    new StateGraph(keepPartialSchema(createState()))
      .addNode("write", () => ({ list: "b", count: count as number }))
      .addEdge(START, "write")
      .compile();
  const input = { list: "a", count: 1 };
  await expect(build(2).invoke(input)).resolves.toEqual({ list: ["a", "b"], count: 2 });
  await expect(build("two").invoke(input)).rejects.toThrow(/number/);
  await expect(build(2).invoke({ list: "a", count: "one" as never })).rejects.toThrow(/number/);
});
