/** The server with users as the tests of one file have it. */

import { Client } from "@langchain/langgraph-sdk";
import { importPKCS8, SignJWT } from "jose";
import { inject } from "vitest";
import { OWN_CONNECTION } from "../../../scripts/dev-server.js";
import { told } from "../served.js";
import { AUDIENCE, ISSUER, type UsersServer } from "../shared-servers.js";

export type User = "ann@example.com" | "bob";

export function serveUsers() {
  const get = told<UsersServer>("usersServer");
  const keyOf = (user: User) => get().keys[user] ?? "";
  return {
    get shared() {
      return get();
    },
    client: (user: User) =>
      new Client({
        apiUrl: get().url,
        apiKey: keyOf(user),
        defaultHeaders: OWN_CONNECTION,
        callerOptions: { maxRetries: 0 },
      }),
    /** The client of a user with a token of the issuer. */
    tokenClient: async (user: string) => {
      const key = await importPKCS8(get().issuerKey, "RS256");
      const token = await new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: user })
        .setProtectedHeader({ alg: "RS256", kid: "1" })
        .setExpirationTime("10m")
        .sign(key);
      const defaultHeaders = { ...OWN_CONNECTION, authorization: `Bearer ${token}` };
      return new Client({ apiUrl: get().url, apiKey: null, defaultHeaders });
    },
    /** What the server has printed. */
    output: async () => await (await fetch(`${inject("usersServer")}/output`)).text(),
    /** Sends a request with a key, or with other headers. Returns the status and the body as a text. */
    send: async (who: User | Record<string, string>, method: string, path: string, body?: unknown) => {
      const headers = typeof who === "string" ? { "x-api-key": keyOf(who) } : who;
      const response = await fetch(`${get().url}${path}`, {
        method,
        headers: { ...OWN_CONNECTION, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    },
  };
}
