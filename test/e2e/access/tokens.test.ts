/** Who is let in: keys, tokens of an issuer, and nobody else. */

import { generateKeyPairSync } from "node:crypto";
import { Hono } from "hono";
import { importPKCS8, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { limitWebhooks } from "../../../server/http/guard-rights.js";
import { user as say } from "../../support/thread.js";
import { newThread } from "../served.js";
import { AUDIENCE, ISSUER } from "../shared-servers.js";
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

it("refuses a setting that is locked, and names it", async () => {
  const client = served.client("bob");
  const { thread_id } = await client.threads.create();
  const run = (content: string, context?: object) =>
    served.send("bob", "POST", `/threads/${thread_id}/runs/wait`, {
      assistant_id: "agent",
      input: say(content),
      ...(context && { context }),
    });

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
])("answers a run with the webhook %s with %i, if hooks.example.com is allowed", async (webhook, status) => {
  const app = new Hono()
    .use(limitWebhooks(["http://hooks.example.com", "https://hooks.example.com"]))
    .post("/runs", ({ text }) => text(""));
  const body = JSON.stringify({ assistant_id: "agent", webhook });
  expect((await app.request("/runs", { method: "POST", body })).status).toBe(status);
});

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
