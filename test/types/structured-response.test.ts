/** `tsc -p .` checks these types: vitest runs the file without looking at them. */

import * as langchain from "langchain";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraph,
  type AgentGraphOptions,
  createAgentGraph,
  providerStrategy,
  toolStrategy,
} from "../../src/index.js";

const City = z.object({ name: z.string(), people: z.number().default(0) });
const River = z.object({ length: z.number() });
const json = { type: "object", properties: { name: { type: "string" } } } as const;

type City = { name: string; people: number };
type River = { length: number };
type ResponseOf<Graph extends AgentGraph<unknown>> = NonNullable<
  Awaited<ReturnType<Graph["invoke"]>> extends { structuredResponse?: infer Response } ? Response : never
>;

const model = "offline:";

describe("The type of the structured response", () => {
  it("follows from the format", () => {
    const graphs = {
      zod: createAgentGraph({ model, responseFormat: City }),
      tool: createAgentGraph({ model, responseFormat: toolStrategy(City) }),
      provider: createAgentGraph({ model, responseFormat: providerStrategy({ schema: City, strict: true }) }),
      json: createAgentGraph({ model, responseFormat: json }),
      toolOfJson: createAgentGraph({ model, responseFormat: toolStrategy(json) }),
      langchain: createAgentGraph({ model, responseFormat: langchain.toolStrategy(River) }),
    };
    type Responses = { [Name in keyof typeof graphs]: ResponseOf<(typeof graphs)[Name]> };
    expectTypeOf<Responses>().toEqualTypeOf<{
      zod: City;
      tool: City;
      provider: City;
      json: Record<string, unknown>;
      toolOfJson: Record<string, unknown>;
      langchain: River;
    }>();
  });

  it("can be undefined, because a run can end without one", () => {
    const graph = createAgentGraph({ model, responseFormat: City });
    expectTypeOf<Awaited<ReturnType<typeof graph.invoke>>>().toHaveProperty("structuredResponse");
    const read = async () => {
      const { structuredResponse } = await graph.invoke({ messages: "hi" });
      // @ts-expect-error It may be undefined.
      structuredResponse.name;
      const { values } = await graph.getState({ configurable: { thread_id: "1" } });
      expectTypeOf(values.structuredResponse).toEqualTypeOf<City | undefined>();
      for await (const chunk of await graph.stream({ messages: "hi" }, { streamMode: "values" }))
        expectTypeOf(chunk.structuredResponse).toEqualTypeOf<City | undefined>();
    };
    expectTypeOf(read).toBeFunction();
  });

  it("does not exist without a format", () => {
    const graph = createAgentGraph({ model });
    expectTypeOf<Awaited<ReturnType<typeof graph.invoke>>>().not.toHaveProperty("structuredResponse");
    expectTypeOf(graph).toEqualTypeOf<AgentGraph>();
  });

  it("is open for options whose format is not known", () => {
    const make = (options: AgentGraphOptions) => createAgentGraph(options);
    expectTypeOf(make).returns.toExtend<AgentGraph<unknown>>();
  });
});

describe("A format", () => {
  it("is a schema or a strategy", () => {
    // @ts-expect-error A text is no schema.
    const text: AgentGraphOptions = { model, responseFormat: "json" };
    // @ts-expect-error It takes a text, a function, true or false.
    const handler = () => toolStrategy(City, { handleError: 7 });
    // @ts-expect-error A list is no schema.
    const list: AgentGraphOptions = { model, responseFormat: [City, River] };
    // @ts-expect-error It takes one schema.
    const toolOfList = () => toolStrategy([City, River]);
    expectTypeOf([text, handler, list, toolOfList]).toBeArray();
  });
});
