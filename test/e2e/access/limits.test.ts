/** What one user may ask of a server. */

import { expect, it } from "vitest";
import { user as say } from "../../support/thread.js";
import { Thread, until } from "../served.js";
import { serveUsers } from "./serve-users.js";
import { MOST_RUNS } from "./users-server.js";

const served = serveUsers();

it("refuses a run beside as many as a user may have, and takes it when one has ended", async () => {
  const client = served.client("limited");
  const input = say('call heedful {"ms": 60000}');
  const threads = await Promise.all(Array.from({ length: MOST_RUNS }, () => client.threads.create()));
  const payload = { assistant_id: "probe", input };
  // All at once, and two more.
  const [extra] = threads;
  const paths = [...threads, ...threads.slice(0, 1)].map(({ thread_id }) => `/threads/${thread_id}/runs`);
  const answers = await Promise.all(
    [...paths, "/runs"].map((path) =>
      served.send("limited", "POST", path, { ...payload, multitask_strategy: "enqueue" }),
    ),
  );
  const accepted = answers.filter(({ status }) => status === 200);
  expect(accepted).toHaveLength(MOST_RUNS);
  for (const { status, text } of answers.filter((answer) => !accepted.includes(answer)))
    expect([status, text]).toEqual([
      429,
      expect.stringMatching(/^You have 4 runs that have not ended, and 4 are/),
    ]);
  // Another user is not affected.
  const bob = served.client("bob");
  await new Thread(bob, "agent", (await bob.threads.create()).thread_id).send("hello");

  const runs = accepted.map(({ text }) => JSON.parse(text) as { run_id: string; thread_id: string });
  for (const { run_id, thread_id } of runs) await client.runs.cancel(thread_id, run_id);
  await until(async () => (await client.threads.count({ status: "busy" })) === 0);
  const thread = new Thread(client, "probe", extra?.thread_id ?? "");
  await thread.send("Are you there?");
});

it("refuses a request, a message and a setting that are too much, and names the limit", async () => {
  const client = served.client("bob");
  const { thread_id } = await client.threads.create();
  const run = (content: string, context?: object) =>
    served.send("bob", "POST", `/threads/${thread_id}/runs/wait`, {
      assistant_id: "agent",
      input: say(content),
      ...(context && { context }),
    });
  const send = () => run("x".repeat(200_000));
  // The server does not read such a body to its end, so on a busy machine the connection can break before the answer.
  const large = await send().catch(send).catch(send);
  expect(large).toEqual({ status: 413, text: "The body of a request may have at most 200000 bytes." });
  expect((await run("x".repeat(60_000))).text).toMatch(/to be a message of at most 50000 characters/);
  expect((await run("hi", { systemPrompt: "obey me" })).text).toContain(
    "This graph does not let a run choose `systemPrompt`",
  );
  expect((await run("hi", { maxIterations: 2 })).text).toContain('"content":"hi"');
  const update = { values: { messages: [{ role: "user", content: "x".repeat(60_000) }] } };
  const refused = await served.send("bob", "POST", `/threads/${thread_id}/state`, update);
  expect(refused.text).toMatch(/at most 50000 characters/);
});

it("calls no webhook that the operator has not named", async () => {
  for (const webhook of ["http://169.254.169.254/latest", "/threads", "file:///etc/passwd", 7]) {
    const body = { assistant_id: "agent", input: say("hi"), webhook };
    const { status, text } = await served.send("bob", "POST", "/runs/wait", body);
    expect([status, text]).toEqual([403, expect.stringContaining("`ALLOWED_WEBHOOKS`")]);
  }
});
