/** What an operator reads, and what nobody reads. */

import { expect, it } from "vitest";
import { Thread } from "../served.js";
import { serveUsers } from "./serve-users.js";

const served = serveUsers();

it("logs each run as JSON with its ids, and no text of a message, no key and no token", async () => {
  const client = await served.tokenClient("logged");
  const thread = new Thread(client, "agent", (await client.threads.create()).thread_id);
  await thread.send("my password is hunter2");
  await thread.send("note: the code is hunter3");
  const run = await client.runs.create(thread.id, "agent", {
    input: { messages: [{ role: "user", content: [{ type: "text", text: "hunter4" }, null] }] },
  });
  await client.runs.join(thread.id, run.run_id).catch(() => {});

  const output = await served.output();
  for (const secret of ["hunter2", "hunter3", "hunter4", ...Object.values(served.shared.keys), "eyJ"])
    expect(output).not.toContain(secret);
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(entries).toContainEqual(
    expect.objectContaining({ event: "Created run", run_id: run.run_id, thread_id: thread.id }),
  );
  expect(entries).toContainEqual(expect.objectContaining({ level: "error", run_id: run.run_id }));
});
