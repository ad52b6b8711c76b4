/** Structured responses of a served graph, as clients of the SDK read them. */

import { describe, expect, it } from "vitest";
import { user } from "../support/thread.js";
import { serve } from "./served.js";

const served = serve();

const OSLO = { city: "Oslo", sunny: true };
const WISH = `call fast {"label": "weather"} then call Report ${JSON.stringify(OSLO)}`;

describe("A served graph with a response format", () => {
  it("returns the structured response, streams it and keeps it in the thread", async () => {
    const { client, id } = await served.thread("reporting");
    const values = await client.runs.wait(id, "reporting", { input: user(WISH) });
    expect(values).toMatchObject({ structuredResponse: OSLO });
    expect((await client.threads.getState(id)).values).toMatchObject({ structuredResponse: OSLO });

    const seen: unknown[] = [];
    const input = { ...user(`call Report {"city": "Rome", "sunny": false}`), structuredResponse: OSLO };
    for await (const { event, data } of client.runs.stream(id, "reporting", { input, streamMode: "values" }))
      if (event === "values") seen.push(Reflect.get(data, "structuredResponse"));
    expect(seen).toEqual([undefined, { city: "Rome", sunny: false }]);
  });

  it("tells clients what is wrong with a response, and that there is none", async () => {
    const { client, id } = await served.thread("reporting");
    const input = user("call Report {}");
    const events: unknown[] = [];
    for await (const { event, data } of client.runs.stream(id, "reporting", { input, streamMode: "custom" }))
      if (event === "custom") events.push(Reflect.get(Object(data), "type"));
    expect(events).toContain("structured-response-refused");
    expect(events.slice(-2)).toEqual(["structured-response-missing", "run-end"]);
    expect((await client.threads.getState(id)).values).not.toHaveProperty("structuredResponse");
  });

  it("shows the schema of the response in that of the state", async () => {
    const [assistant] = await served.client.assistants.search({ graphId: "reporting" });
    const schemas = await served.client.assistants.getSchemas(assistant?.assistant_id ?? "");
    const properties = { city: { type: "string" }, sunny: { type: "boolean" } };
    expect(schemas.output_schema?.properties?.["structuredResponse"]).toMatchObject({ properties });
  });
});
