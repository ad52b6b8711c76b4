/** `/tether/metrics` of a served graph: what it counts, and who may read it. */

import { expect, it } from "vitest";
import { readMetrics } from "../../support/read-metrics.js";
import { serve } from "../served.js";
import { serveUsers } from "./serve-users.js";

const open = serve();
const users = serveUsers();
const METRICS = "/tether/metrics";

it("counts the runs and the repairs of a server", async () => {
  const read = async () => readMetrics(await (await fetch(`${open.url}${METRICS}`)).text());
  const before = await read();
  const { client, id } = await open.thread("agent");
  const messages = [
    { role: "user", content: "hello" },
    { type: "ai", content: "", tool_calls: [{ id: "c1", name: "calculator", args: {}, type: "tool_call" }] },
    { role: "user", content: "hello again" },
  ];
  await client.runs.wait(id, "agent", { input: { messages } });
  const after = await read();
  // Other tests use the server at the same time.
  for (const name of [
    "tether_runs_total{outcome=completed}",
    "tether_repairs_total{kind=call-closed,cause=superseded}",
  ])
    expect(after[name]).toBeGreaterThan(before[name] ?? 0);
});

it("shows the same numbers to every user, and to nobody else", async () => {
  const { status } = await users.send({}, "GET", METRICS);
  expect(status).toBe(401);
  const client = users.client("ann@example.com");
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "agent", {
    input: { messages: [{ role: "user", content: "secretword" }] },
  });
  const [ann, bob] = [
    await users.send("ann@example.com", "GET", METRICS),
    await users.send("bob", "GET", METRICS),
  ];
  for (const { status, text } of [ann, bob]) {
    expect(status).toBe(200);
    expect(readMetrics(text)["tether_runs_total{outcome=completed}"]).toBeGreaterThan(0);
    expect(text).not.toMatch(new RegExp(`ann|bob|secretword|${thread_id}`));
  }
});
