/** Who is let in: keys, tokens of an issuer, and nobody else. */

import { generateKeyPairSync } from "node:crypto";
import { importPKCS8, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { serveUsers } from "./serve-users.js";
import { AUDIENCE, ISSUER } from "./users-server.js";

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
    const { status, text } = await served.send(
      { authorization: `Bearer ${await make()}` },
      "POST",
      "/threads",
      {},
    );
    expect(text).toMatch(/^The token (?:is not valid|has expired)\.$|reserved/);
    expect(status).toBe(401);
  });

  it("refuses clients without a key, with a wrong one, and with the header of Studio", async () => {
    const key = served.shared.keys["bob"] ?? "";
    const wrong = [
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
      const { status, text } = await served.send(
        headers as Record<string, string>,
        "POST",
        "/threads/search",
        {},
      );
      expect([headers, status]).toEqual([headers, 401]);
      expect(text).not.toContain(key.slice(0, 12));
    }
    expect(
      (await served.send({ authorization: `Bearer ${key}` }, "POST", "/threads/search", {})).status,
    ).toBe(200);
  });

  it("lets everybody ask for its health, and nothing else", async () => {
    expect(await served.send({}, "GET", "/ok")).toEqual({ status: 200, text: '{"ok":true}' });
    for (const path of ["/ok/", "/threads/../ok", "//ok", "/OK"])
      expect((await served.send({}, "GET", path.replace("/..", "/%2e%2e"))).status).not.toBe(500);
    expect((await served.send({}, "POST", "/ok")).status).toBe(401);
  });
});
