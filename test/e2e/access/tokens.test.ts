/** Who is let in: keys, tokens of an issuer, and nobody else. */

import { generateKeyPairSync } from "node:crypto";
import { Hono } from "hono";
import { importPKCS8, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { limitWebhooks } from "../../../server/http/limits.js";
import { readMetrics } from "../../support/read-metrics.js";
import { user as say } from "../../support/thread.js";
import { newThread, serve, Thread, until } from "../served.js";
import { AUDIENCE, ISSUER, MOST_RUNS } from "../shared-servers.js";
import { serveUsers } from "./serve-users.js";

const served = serveUsers();

interface Claims {
  readonly issuer?: string;
  readonly audience?: string;
  /** Seconds from now. */
  readonly expires?: number | undefined;
  readonly notBefore?: number;
  readonly subject?: string | undefined;
  readonly kid?: string;
}

const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const now = () => Math.floor(Date.now() / 1000);

async function token(
  claims: Claims = {},
  key?: Parameters<SignJWT["sign"]>[0],
  alg = "RS256",
): Promise<string> {
  const { issuer = ISSUER, audience = AUDIENCE, kid = "1", notBefore } = claims;
  const { expires, subject } = { expires: 600, subject: "carol", ...claims };
  const made = new SignJWT({}).setProtectedHeader({ alg, kid }).setIssuer(issuer).setAudience(audience);
  if (expires !== undefined) made.setExpirationTime(now() + expires);
  if (notBefore !== undefined) made.setNotBefore(now() + notBefore);
  if (subject !== undefined) made.setSubject(subject);
  return await made.sign(key ?? (await importPKCS8(served.shared.issuerKey, "RS256")));
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = () => ({ iss: ISSUER, aud: AUDIENCE, sub: "bob", exp: now() + 600 });

const refused: readonly (readonly [what: string, make: () => Promise<string> | string])[] = [
  ["of another issuer", () => token({ issuer: "https://other.example" })],
  ["for another audience", () => token({ audience: "others" })],
  ["that has expired", () => token({ expires: -60 })],
  ["without an expiry", () => token({ expires: undefined })],
  ["that is not valid yet", () => token({ notBefore: 600 })],
  ["without a user", () => token({ subject: undefined })],
  ["of an empty user", () => token({ subject: "" })],
  ["of the user that Studio has", () => token({ subject: "langgraph-studio-user" })],
  ["signed with another key", () => token({}, stranger)],
  ["signed with another key that it names", () => token({ kid: "2" }, stranger)],
  ["without a signature (`none`)", () => `${encode({ alg: "none" })}.${encode(claims())}.`],
  ["with an empty signature", () => `${encode({ alg: "RS256", kid: "1" })}.${encode(claims())}.`],
  ["signed with the public issuer as a secret", () => token({}, Buffer.from(ISSUER.padEnd(64)), "HS256")],
  [
    "whose claims were changed",
    async () => {
      const [head, , signature] = (await token()).split(".");
      return `${head}.${encode(claims())}.${signature}`;
    },
  ],
  ["that is no token", () => "a.b.c"],
];

describe("a server with users", () => {
  it("takes a token of its issuer, and makes its user the owner", async () => {
    const headers = { authorization: `Bearer ${await token()}` };
    const { status, text } = await served.send(headers, "POST", "/threads", {});
    expect([status, JSON.parse(text).metadata]).toEqual([200, { owner: "carol" }]);
  });

  it.each(refused)("refuses a token %s", async (_what, make) => {
    const headers = { authorization: `Bearer ${await make()}` };
    const { status, text } = await served.send(headers, "POST", "/threads", {});
    expect(text).toMatch(/^The token (?:is not valid|has expired)\.$|reserved/);
    expect(status).toBe(401);
  });

  it("refuses clients without a key, with a wrong one, and with the header of Studio", async () => {
    const key = served.shared.keys["bob"] ?? "";
    const search = (headers: Record<string, string>) => served.send(headers, "POST", "/threads/search", {});
    const wrong: Record<string, string>[] = [
      {},
      { "x-api-key": "" },
      { "x-api-key": "tether_wrong" },
      { "x-api-key": key.slice(0, -1) },
      { "x-api-key": `${key}x` },
      { authorization: key },
      { authorization: `Basic ${key}` },
      { authorization: "Bearer wrong", "x-api-key": key },
      { "x-auth-scheme": "langsmith" },
      { "x-auth-scheme": "langsmith", "x-api-key": "tether_wrong" },
      { langgraph_auth_user_id: "bob" },
    ];
    for (const headers of wrong) {
      const { status, text } = await search(headers);
      expect([headers, status]).toEqual([headers, 401]);
      expect(text).not.toContain(key.slice(0, 12));
    }
    expect((await search({ authorization: `Bearer ${key}` })).status).toBe(200);
  });

  it("lets everybody ask for its health, and nothing else", async () => {
    expect(await served.send({}, "GET", "/ok")).toEqual({ status: 200, text: '{"ok":true}' });
    for (const path of ["/ok/", "/threads/../ok", "//ok", "/OK"])
      expect((await served.send({}, "GET", path.replace("/..", "/%2e%2e"))).status).not.toBe(500);
    expect((await served.send({}, "POST", "/ok")).status).toBe(401);
  });
});

// What one user may ask of a server.

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
  await (await newThread(served.client("bob"), "agent")).send("hello");

  const runs = accepted.map(({ text }) => JSON.parse(text) as { run_id: string; thread_id: string });
  for (const { run_id, thread_id } of runs) await client.runs.cancel(thread_id, run_id);
  await until(async () => (await client.threads.count({ status: "busy" })) === 0);
  const thread = new Thread(client, "probe", extra?.thread_id ?? "");
  await thread.send("Are you there?");
});

it("counts the runs that wait, on whichever thread", async () => {
  const client = served.client("limited");
  const [busy, other] = await Promise.all([client.threads.create(), client.threads.create()]);
  const input = say('call heedful {"ms": 60000}');
  const runs: string[] = [];
  for (let run = 0; run < MOST_RUNS; run += 1) {
    const queued = { input, multitaskStrategy: "enqueue" } as const;
    runs.push((await client.runs.create(busy.thread_id, "probe", queued)).run_id);
  }
  for (const path of [`/threads/${busy.thread_id}/runs`, `/threads/${other.thread_id}/runs`, "/runs"]) {
    const { status } = await served.send("limited", "POST", path, { assistant_id: "probe", input });
    expect([path, status]).toEqual([path, 429]);
  }
  for (const run of runs.toReversed()) await client.runs.cancel(busy.thread_id, run, run === runs[0]);
});

it("counts all runs, also if the server does not call their threads busy, and calls others busy for ever", async () => {
  const client = served.client("limited");
  const create = async (thread: string, options: object) => {
    const body = { assistant_id: "probe", input: say('call heedful {"ms": 60000}'), ...options };
    const { status, text } = await served.send("limited", "POST", `/threads/${thread}/runs`, body);
    return { status, runId: String(JSON.parse(status === 200 ? text : "{}").run_id) };
  };
  const [failing, cancelling, first, ...others] = await Promise.all(
    Array.from({ length: MOST_RUNS + 4 }, async () => (await client.threads.create()).thread_id),
  );
  if (failing === undefined || cancelling === undefined || first === undefined) throw new Error();
  // Behind a run that is cancelled, one fails, and the next one goes on.
  const { runId: cancelled } = await create(failing, {});
  await create(failing, { assistant_id: "agent", context: { maxIterations: 1_000 } });
  const running = [[failing, (await create(failing, {})).runId]] as [string, string][];
  await client.runs.cancel(failing, cancelled);
  await until(async () => (await client.threads.get(failing)).status === "error");
  // A run waits beside one that goes on, and is cancelled.
  running.push([cancelling, (await create(cancelling, {})).runId]);
  await client.runs.cancel(cancelling, (await create(cancelling, { after_seconds: 1_000 })).runId);
  running.push([first, (await create(first, {})).runId]);
  // The server goes on to call a thread busy whose waiting run has been removed.
  for (const thread of others) {
    const { runId } = await create(thread, { after_seconds: 1_000 });
    await client.runs.cancel(thread, runId, false, "rollback");
  }
  expect(await client.threads.count({ status: "busy" })).toBe(MOST_RUNS + 2);
  const { thread_id: last } = await client.threads.create();
  const answers = [];
  for (let index = 0; index < 2; index += 1) answers.push(await create(last, {}));
  expect(answers.map(({ status }) => status)).toEqual([200, 429]);
  running.push([last, answers[0]?.runId ?? ""]);
  for (const [thread, run] of running) await client.runs.cancel(thread, run);
  for (const thread of others) await client.threads.delete(thread);
});

it("refuses a request and a setting that are too much, and names the limit", async () => {
  const client = served.client("bob");
  const { thread_id } = await client.threads.create();
  const run = (content: string, context?: object) =>
    served.send("bob", "POST", `/threads/${thread_id}/runs/wait`, {
      assistant_id: "agent",
      input: say(content),
      ...(context && { context }),
    });
  const large = await run("x".repeat(200_000));
  expect(large).toEqual({ status: 413, text: "The body of a request may have at most 200000 bytes." });
  expect((await run("hi", { systemPrompt: "obey me" })).text).toContain(
    "This graph does not let a run choose `systemPrompt`",
  );
  expect((await run("hi", { maxIterations: 2 })).text).toContain('"content":"hi"');
});

it("calls no webhook that the operator has not named", async () => {
  for (const webhook of ["http://169.254.169.254/latest", "/threads", "file:///etc/passwd", 7]) {
    const body = { assistant_id: "agent", input: say("hi"), webhook };
    const { status, text } = await served.send("bob", "POST", "/runs/wait", body);
    expect([status, text]).toEqual([403, expect.stringContaining("`ALLOWED_WEBHOOKS`")]);
  }
});

it.each([
  ["http://hooks.example.com/a?b=c", 200],
  ["https://hooks.example.com:443", 200],
  ["https://hooks.example.com:8443", 403],
  ["https://hooks.example.com.evil.example", 403],
  // With these, the call would fail and end a worker of the server.
  ["ftp://hooks.example.com", 403],
  ["https://user@hooks.example.com", 403],
  ["https://:password@hooks.example.com", 403],
])(
  "answers a run with the webhook %s with %i, if the host hooks.example.com is allowed",
  async (webhook, status) => {
    const app = new Hono().use(limitWebhooks(["hooks.example.com"])).post("/runs", ({ text }) => text(""));
    const body = JSON.stringify({ assistant_id: "agent", webhook });
    expect((await app.request("/runs", { method: "POST", body })).status).toBe(status);
  },
);

// What an operator reads, and what nobody reads.

it("logs each run as JSON with its ids, and no text of a message, no key and no token", async () => {
  const client = await served.tokenClient("logged");
  const thread = await newThread(client, "agent");
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

// `/tether/metrics` of a served graph: what it counts, and who may read it.

const open = serve();
const METRICS = "/tether/metrics";

it("counts the runs and the repairs of a server", async () => {
  const read = async () => readMetrics(await (await fetch(`${open.url}${METRICS}`)).text());
  const before = await read();
  const thread = await open.thread("agent");
  await thread.invoke([
    { role: "user", content: "hello" },
    { type: "ai", content: "", tool_calls: [{ id: "c1", name: "calculator", args: {}, type: "tool_call" }] },
    { role: "user", content: "hello again" },
  ]);
  const after = await read();
  // Other tests use the server at the same time.
  for (const name of [
    "tether_runs_total{outcome=completed}",
    "tether_repairs_total{kind=call-closed,cause=superseded}",
  ])
    expect(after[name]).toBeGreaterThan(before[name] ?? 0);
});

it("shows the same numbers to every user, and to nobody else", async () => {
  const { status } = await served.send({}, "GET", METRICS);
  expect(status).toBe(401);
  const thread = await newThread(served.client("ann@example.com"), "agent");
  await thread.send("secretword");
  for (const user of ["ann@example.com", "bob"] as const) {
    const { status, text } = await served.send(user, "GET", METRICS);
    expect(status).toBe(200);
    expect(readMetrics(text)["tether_runs_total{outcome=completed}"]).toBeGreaterThan(0);
    expect(text).not.toMatch(new RegExp(`ann|bob|secretword|${thread.id}`));
  }
});
