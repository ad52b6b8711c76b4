/** The settings of the server's access control: what is configured in part does not start. */

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseStore, InMemoryStore } from "@langchain/langgraph";
import { afterAll, describe, expect, it } from "vitest";
import { createAuth, readAccess } from "../../server/access/access.js";
import {
  authenticateEverybody,
  listensToThisMachine,
  makeApiKey,
  readApiKeys,
  userOfKey,
} from "../../server/access/authenticate.js";
import { userLabel, withOwnedStore } from "../../server/access/owned-store.js";
import { createRunOwners } from "../../server/access/rights.js";
import { readServerSettings } from "../../server/access/server-settings.js";
import { createAgentGraph, InvalidSettingError } from "../../src/index.js";
import { rowsOf } from "../support/test-tools.js";

const directory = mkdtempSync(join(tmpdir(), "tether-access-"));
afterAll(() => rmSync(directory, { recursive: true }));

const open = (environment: Record<string, string>) => readAccess(readServerSettings(environment));
const { key, entry } = makeApiKey("ann");
const pem = (type: "rsa" | "ed25519", part: "publicKey" | "privateKey") => {
  const pair =
    type === "rsa" ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeyPairSync("ed25519");
  return pair[part].export({ type: part === "publicKey" ? "spki" : "pkcs8", format: "pem" }).toString();
};
const tokens = { AUTH_JWT_ISSUER: "https://i.example", AUTH_JWT_AUDIENCE: "a" };
const rsa = { ...tokens, AUTH_JWT_ALGORITHM: "RS256" };
const file = (name: string, text: string) => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

const inPart = rowsOf<[environment: Record<string, string>, says: RegExp]>({
  "a key instead of its hash": [
    { AUTH_API_KEYS: `ann:${key}` },
    /^Expected entry 1 of `AUTH_API_KEYS` to be `user:sha256-`/,
  ],
  "a hash without a user": [{ AUTH_API_KEYS: `${entry},${entry.slice(4)}` }, /^Expected entry 2/],
  "an empty file": [{ AUTH_API_KEYS_FILE: file("empty", "# none\n") }, /at least one API key/],
  "a missing file": [{ AUTH_API_KEYS_FILE: join(directory, "none") }, /a file that can be read/],
  "an issuer alone": [{ AUTH_JWT_ISSUER: "https://i.example" }, /^Expected `AUTH_JWT_AUDIENCE` to be set/],
  "an audience alone": [{ AUTH_JWT_AUDIENCE: "a" }, /^Expected `AUTH_JWT_ISSUER` to be set/],
  "a claim alone": [{ AUTH_JWT_USER_CLAIM: "email" }, /^Expected `AUTH_JWT_ISSUER` to be set/],
  "no algorithm": [{ ...tokens, AUTH_JWT_JWKS_URL: "https://i.example/k" }, /^Expected `AUTH_JWT_ALGORITHM`/],
  "the algorithm none": [
    { ...tokens, AUTH_JWT_ALGORITHM: "none" },
    /^Expected `AUTH_JWT_ALGORITHM` to be one of RS256/,
  ],
  "no key": [rsa, /^Expected `AUTH_JWT_KEY` to be set/],
  "keys over plain HTTP": [{ ...rsa, AUTH_JWT_JWKS_URL: "http://i.example/k" }, /an https URL/],
  "two sources of keys": [
    { ...rsa, AUTH_JWT_JWKS_URL: "https://i.example/k", AUTH_JWT_KEY: "k" },
    /both are set/,
  ],
  "public keys for a secret": [
    { ...tokens, AUTH_JWT_ALGORITHM: "HS256", AUTH_JWT_JWKS_URL: "https://i.example/k" },
    /needs a secret/,
  ],
  "a short secret": [
    { ...tokens, AUTH_JWT_ALGORITHM: "HS512", AUTH_JWT_KEY: "x".repeat(63) },
    /at least 64 bytes/,
  ],
  "a public key as a secret": [
    { ...tokens, AUTH_JWT_ALGORITHM: "HS256", AUTH_JWT_KEY: pem("rsa", "publicKey") },
    /to be a secret/,
  ],
  "a private key": [{ ...rsa, AUTH_JWT_KEY: pem("rsa", "privateKey") }, /to be a public key in PEM form/],
  "a key of another kind": [
    { ...rsa, AUTH_JWT_KEY: pem("ed25519", "publicKey") },
    /of the kind rsa for RS256, got one of the kind ed25519/,
  ],
  "Studio without users": [{ AUTH_STUDIO: "true" }, /because `AUTH_STUDIO` is true/],
});

describe("readAccess", () => {
  it.each(inPart)("refuses %s, and shows no secret", (_what, environment, says) => {
    expect(() => open(environment)).toThrow(says);
    expect(() => open(environment)).toThrow(InvalidSettingError);
    expect(() => open(environment)).not.toThrow(key);
  });

  it("takes keys of a file and of a variable, several for a user, and a public key with `\\n`", () => {
    const other = makeApiKey("ann");
    const path = file("keys", `# Ann\n  ${other.entry}\n\n`);
    const access = open({ AUTH_API_KEYS: entry, AUTH_API_KEYS_FILE: path });
    if (access.kind !== "users") throw new Error("Expected users.");
    const users = [key, other.key, `${key}x`, ""].map((given) => userOfKey(access.keys, given));
    expect(users).toEqual(["ann", "ann", undefined, undefined]);
    const AUTH_JWT_KEY = pem("rsa", "publicKey").replaceAll("\n", "\\n");
    expect(open({ ...rsa, AUTH_JWT_KEY }).kind).toBe("users");
    expect(open({}).kind).toBe("open");
    expect(() => makeApiKey("a,b")).toThrow(InvalidSettingError);
    expect(readApiKeys(entry, "x")[0]?.digest.toString("hex")).not.toContain(key);
  });
});

describe("readServerSettings", () => {
  it.each([
    ["ALLOWED_ORIGINS", ["https://a.example", "http://b.example:8080"]],
    ["ALLOWED_WEBHOOKS", ["a.example", "b.example:8080", "127.0.0.1:1"]],
  ] as const)("reads %s", (name, expected) => {
    expect(readServerSettings({ [name]: expected.join(", ") })[name]).toEqual(expected);
  });

  // Each of them would be compared with a part of a URL, and never be equal to it.
  it.each([
    ["ALLOWED_ORIGINS", "https://a.example,https://b.example/", " Did you mean `https://b.example`?"],
    ["ALLOWED_ORIGINS", "HTTPS://B.example", " Did you mean `https://b.example`?"],
    ["ALLOWED_ORIGINS", "b.example", "."],
    ["ALLOWED_ORIGINS", "*", "."],
    ["ALLOWED_WEBHOOKS", "https://b.example/hook", " Did you mean `b.example`?"],
    ["ALLOWED_WEBHOOKS", "B.example", " Did you mean `b.example`?"],
    ["ALLOWED_WEBHOOKS", "b.example:443", " Did you mean `b.example`?"],
    ["ALLOWED_WEBHOOKS", "a b", "."],
  ])("refuses %s=%s, and names what was meant", (name, text, end) => {
    const read = () => readServerSettings({ [name]: text });
    expect(read).toThrow(InvalidSettingError);
    expect(read).toThrow(`Expected \`${name}\` to be `);
    expect(read).toThrow(end);
  });
});

describe("an open server", () => {
  const start = (environment: Record<string, string>, address: string | undefined, said: string[] = []) => {
    const settings = readServerSettings(environment);
    const isLocal = listensToThisMachine({ LANGGRAPH_API_URL: address });
    const warn = (text: string) => void said.push(text);
    createAuth({ access: readAccess(settings), settings, runOwners: createRunOwners(), isLocal, warn });
  };

  it("starts for this machine, and says once in one line that it is open", () => {
    const said: string[] = [];
    for (const host of ["localhost", "127.0.0.1", "[::1]"]) start({}, `http://${host}:2024`, said);
    expect(said).toHaveLength(3);
    expect(said[0]).toBe(
      "No access control: Every program of this machine can read and change all threads. See docs/production.md.",
    );
  });

  it("does not start where other machines reach it, unless the operator allows it or there are users", () => {
    for (const host of ["0.0.0.0:2024", "192.168.1.2:1", "localhost.example", undefined]) {
      const address = host && `http://${host}`;
      expect(() => start({}, address)).toThrow(/Set `AUTH_API_KEYS`.* or allow it with `OPEN_ACCESS=true`/);
      const said: string[] = [];
      start({ AUTH_API_KEYS: entry }, address, said);
      expect(said).toEqual([]);
      start({ OPEN_ACCESS: "true" }, address, said);
      expect(said).toHaveLength(1);
    }
  });

  it.each([
    [{ host: "localhost:2024" }, undefined],
    [{ host: "127.0.0.1:2024", origin: "http://localhost:3000" }, undefined],
    [{ host: "[::1]:2024", origin: "https://smith.langchain.com" }, undefined],
    [{ host: "localhost:2024", origin: "https://chat.example" }, undefined],
    [{ host: "evil.example:2024" }, 403],
    [{ host: "localhost.evil.example" }, 403],
    [{ host: "localhost:2024", origin: "https://evil.example" }, 403],
    [{ host: "localhost:2024", origin: "https://smith.langchain.com.evil.example" }, 403],
    [{ host: "localhost:2024", origin: "http://smith.langchain.com" }, 403],
    [{ host: "localhost:2024", origin: "null" }, 403],
  ] as const)("answers a request with %o as %s", async (headers, status) => {
    const authenticate = authenticateEverybody(["https://chat.example"]);
    const answer = authenticate(new Request("http://localhost:2024/threads", { headers }));
    await (status === undefined ? answer : expect(answer).rejects.toMatchObject({ status }));
  });
});

it.each([
  ["ann", "ann"],
  ["ann@example.com", "x--ann-0040-example-002e-com"],
  ["*", "x---002a-"],
  ["langgraph", "x--langgraph"],
  [undefined, "x--nobody"],
])("The names of the user %j begin with %s in the store", (user, label) => {
  expect(userLabel(user)).toBe(label);
});

function partOf(store: BaseStore, user: string | undefined) {
  const graph = withOwnedStore(createAgentGraph({ model: "offline:" }), userLabel(user));
  graph.store = store;
  if (graph.store === undefined) throw new Error("Expected a store.");
  return graph.store;
}

it("withOwnedStore keeps everything of a user below their label, and shows namespaces as usual", async () => {
  const store = new InMemoryStore();
  const [ann, bob] = [partOf(store, "ann"), partOf(store, "bob")];
  await ann.put(["notes", "a"], "1", { text: "one" });
  await bob.put(["notes"], "1", { text: "two" });
  expect((await store.get(["ann", "notes", "a"], "1"))?.value).toEqual({ text: "one" });
  expect(await ann.get(["notes", "a"], "1")).toMatchObject({
    namespace: ["notes", "a"],
    value: { text: "one" },
  });
  expect(await bob.get(["notes", "a"], "1")).toBeNull();
  expect((await ann.search([])).map(({ namespace }) => namespace)).toEqual([["notes", "a"]]);
  expect(await ann.listNamespaces({ maxDepth: 1 })).toEqual([["notes"]]);
  expect(await ann.listNamespaces({ prefix: ["notes"], suffix: ["a"] })).toEqual([["notes", "a"]]);
  expect(await bob.listNamespaces()).toEqual([["notes"]]);
  await bob.delete(["notes", "a"], "1");
  await ann.delete(["notes", "a"], "1");
  expect(await store.get(["ann", "notes", "a"], "1")).toBeNull();
});
