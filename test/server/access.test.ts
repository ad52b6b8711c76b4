/** The settings of the server's access control: what is configured in part does not start. */

import { createSecretKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type BaseStore, InMemoryStore } from "@langchain/langgraph";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { makeApiKey } from "../../scripts/api-key/make-api-key.js";
import { createAuth, readAccess } from "../../server/access/access.js";
import {
  authenticateEverybody,
  authenticateUsers,
  listensToThisMachine,
  readApiKeys,
  userOfKey,
} from "../../server/access/authenticate.js";
import { userLabel, withOwnedStore } from "../../server/access/owned-store.js";
import { readServerSettings } from "../../server/access/server-settings.js";
import { createAgentGraph, InvalidSettingError } from "../../src/index.js";
import { rowsOf } from "../support/test-tools.js";

const open = (environment: Record<string, string>) => readAccess(readServerSettings(environment));
const { key, entry } = makeApiKey("ann");
/** As long as a secret must be. */
const SECRET = "a secret of thirty-two bytes....";
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ED25519 = generateKeyPairSync("ed25519");
const pem = (key: KeyObject) =>
  String(key.export({ type: key.type === "public" ? "spki" : "pkcs8", format: "pem" }));
const tokens = { AUTH_JWT_ISSUER: "https://i.example", AUTH_JWT_AUDIENCE: "a" };

const inPart = rowsOf<[environment: Record<string, string>, says: RegExp]>({
  "a key instead of its hash": [
    { AUTH_API_KEYS: `ann:${key}` },
    /^Expected entry 1 of `AUTH_API_KEYS` to be `user:sha256-`/,
  ],
  "a hash without a user": [{ AUTH_API_KEYS: `${entry},${entry.slice(4)}` }, /^Expected entry 2/],
  "a list without keys": [{ AUTH_API_KEYS: "," }, /^Expected entry 1/],
  "an issuer alone": [{ AUTH_JWT_ISSUER: "https://i.example" }, /^Expected `AUTH_JWT_AUDIENCE` to be set/],
  "an audience alone": [{ AUTH_JWT_AUDIENCE: "a" }, /^Expected `AUTH_JWT_ISSUER` to be set/],
  "a claim alone": [{ AUTH_JWT_USER_CLAIM: "email" }, /^Expected `AUTH_JWT_ISSUER` to be set/],
  "no keys": [tokens, /^Expected `AUTH_JWT_JWKS_URL` or `AUTH_JWT_KEY` to be set/],
  "two sources of keys": [
    { ...tokens, AUTH_JWT_JWKS_URL: "https://i.example/k", AUTH_JWT_KEY: SECRET },
    /both are set/,
  ],
  "a short secret": [{ ...tokens, AUTH_JWT_KEY: SECRET.slice(1) }, /a secret of at least 32 bytes/],
  "a private key": [{ ...tokens, AUTH_JWT_KEY: pem(RSA.privateKey) }, /a public key in PEM form/],
  "half a public key": [{ ...tokens, AUTH_JWT_KEY: pem(RSA.publicKey).slice(0, 100) }, /a public key/],
  "keys over plain HTTP": [{ ...tokens, AUTH_JWT_JWKS_URL: "http://i.example/k" }, /an https URL/],
});

describe("readAccess", () => {
  it.each(inPart)("refuses %s, and shows no secret", (_what, environment, says) => {
    expect(() => open(environment)).toThrow(says);
    expect(() => open(environment)).toThrow(InvalidSettingError);
    for (const secret of [key, SECRET.slice(1), "PRIVATE KEY-----\n"])
      expect(() => open(environment)).not.toThrow(secret);
  });

  it("takes several keys of a user, separated by commas or line breaks, and tokens", () => {
    const other = makeApiKey("ann");
    const access = open({ AUTH_API_KEYS: `${entry},\n  ${other.entry}\n` });
    if (access.kind !== "users") throw new Error("Expected users.");
    const users = [key, other.key, `${key}x`, ""].map((given) => userOfKey(access.keys, given));
    expect(users).toEqual(["ann", "ann", undefined, undefined]);
    expect(open({ ...tokens, AUTH_JWT_JWKS_URL: "https://i.example/k" }).kind).toBe("users");
    expect(open({}).kind).toBe("open");
    expect(() => makeApiKey("a,b")).toThrow(InvalidSettingError);
    expect(readApiKeys(entry)[0]?.digest.toString("hex")).not.toContain(key);
  });
});

/** A token of Ann, signed with a key. */
function signed(key: KeyObject, alg: string, kid?: string): Promise<string> {
  const claims = { iss: tokens.AUTH_JWT_ISSUER, aud: tokens.AUTH_JWT_AUDIENCE, sub: "ann" };
  const header = { alg, ...(kid !== undefined && { kid }) };
  return new SignJWT(claims).setProtectedHeader(header).setExpirationTime("10m").sign(key);
}

describe("a key of tokens", () => {
  const secret = createSecretKey(Buffer.from(SECRET));
  const longSecret = createSecretKey(Buffer.from(SECRET.repeat(2)));
  /** The public key as bytes: whoever has it could sign with it, if it were taken for a secret. */
  const publicAsSecret = createSecretKey(Buffer.from(pem(RSA.publicKey)));

  it.each<[what: string, key: string, token: () => Promise<string>, isTaken: boolean]>([
    ["signed with the secret", SECRET, () => signed(secret, "HS256"), true],
    ["signed with another algorithm of secrets", SECRET.repeat(2), () => signed(longSecret, "HS512"), false],
    ["signed with another secret", SECRET, () => signed(longSecret, "HS256"), false],
    ["of a key pair beside a secret", SECRET, () => signed(RSA.privateKey, "RS256"), false],
    ["of the key pair", pem(RSA.publicKey), () => signed(RSA.privateKey, "RS256"), true],
    [
      "with `\\n` in its key",
      pem(RSA.publicKey).replaceAll("\n", "\\n"),
      () => signed(RSA.privateKey, "PS256"),
      true,
    ],
    ["that names its key", pem(ED25519.publicKey), () => signed(ED25519.privateKey, "EdDSA", "1"), true],
    ["of another key pair", pem(RSA.publicKey), () => signed(ED25519.privateKey, "EdDSA"), false],
    [
      "signed with the public key as a secret",
      pem(RSA.publicKey),
      () => signed(publicAsSecret, "HS256"),
      false,
    ],
  ])("answers a token %s", async (_what, AUTH_JWT_KEY, token, isTaken) => {
    const access = open({ ...tokens, AUTH_JWT_KEY });
    if (access.kind !== "users") throw new Error("Expected users.");
    const headers = { authorization: `Bearer ${await token()}` };
    const answer = authenticateUsers(access)(new Request("http://localhost/threads", { headers }));
    if (isTaken) expect(await answer).toMatchObject({ identity: "ann" });
    // Not 503, which would say that the keys cannot be fetched.
    else await expect(answer).rejects.toMatchObject({ status: 401, message: "The token is not valid." });
  });
});

describe("LangGraph Studio on a server with users", () => {
  const rightsOf = (environment: Record<string, string>) => {
    const settings = readServerSettings({ AUTH_API_KEYS: entry, ...environment });
    const auth = createAuth({ access: readAccess(settings), settings, isLocal: false, warn: () => {} });
    const { callbacks = {} } = auth["~handlerCache"];
    const user = { identity: "langgraph-studio-user" };
    return () => callbacks["threads"]?.({ user, value: {} } as never);
  };

  it("has no rights", () => {
    expect(rightsOf({})).toThrow("LangGraph Studio needs an API key or a token.");
    expect(rightsOf({ AUTH_STUDIO: "false" })).toThrow("LangGraph Studio needs an API key or a token.");
  });

  it("has its own threads, if the operator lets it in", () => {
    expect(rightsOf({ AUTH_STUDIO: "true" })()).toEqual({ owner: "langgraph-studio-user" });
  });
});

describe("readServerSettings", () => {
  it.each([
    ["ALLOWED_ORIGINS", ["https://a.example", "http://b.example:8080"]],
    ["ALLOWED_WEBHOOKS", ["https://a.example", "http://127.0.0.1:1"]],
  ] as const)("reads %s", (name, expected) => {
    expect(readServerSettings({ [name]: expected.join(", ") })[name]).toEqual(expected);
  });

  // Each of them would be compared with the origin of a URL, and never be equal to it.
  it.each(["https://b.example/", "HTTPS://B.example", "b.example", "*", "https://b.example:443", "a b"])(
    "refuses the origin %s",
    (text) => {
      for (const name of ["ALLOWED_ORIGINS", "ALLOWED_WEBHOOKS"]) {
        const read = () => readServerSettings({ [name]: `https://a.example,${text}` });
        expect(read).toThrow(InvalidSettingError);
        expect(read).toThrow(`Expected \`${name}\` to be origins`);
      }
    },
  );
});

describe("an open server", () => {
  const start = (environment: Record<string, string>, address: string | undefined, said: string[] = []) => {
    const settings = readServerSettings(environment);
    const isLocal = listensToThisMachine({ LANGGRAPH_API_URL: address });
    const warn = (text: string) => void said.push(text);
    createAuth({ access: readAccess(settings), settings, isLocal, warn });
  };

  it("starts for this machine, and says once in one line that it is open", () => {
    const said: string[] = [];
    for (const host of ["localhost", "127.0.0.1", "[::1]"]) start({}, `http://${host}:2024`, said);
    expect(said).toHaveLength(3);
    expect(said[0]).toBe(
      "No access control: Every program of this machine can read and change all threads. See server/README.md.",
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
  await expect(ann.listNamespaces()).rejects.toThrow("cannot be listed");
  await bob.delete(["notes", "a"], "1");
  await ann.delete(["notes", "a"], "1");
  expect(await store.get(["ann", "notes", "a"], "1")).toBeNull();
});
