/** Says who sends a request, or refuses it. It is the first of our code that sees a request. */

import { HTTPException } from "@langchain/langgraph-sdk/auth";
import { isRecord } from "../../shared/values.js";
import type { Access } from "./access.js";
import { userOfKey } from "./api-keys.js";
import { credentialOf, isPageRequest } from "./credential.js";
import { hostnameOf, isThisMachine } from "./this-machine.js";
import type { VerifyToken } from "./tokens.js";

/** Who asks whether the server lives. It has no rights. */
export const HEALTH_CHECK = "%health";
/** All clients of an open server. */
export const EVERYBODY = "everybody";
/** The user that the server makes of LangGraph Studio. */
export const STUDIO_USER = "langgraph-studio-user";

/** A user as LangGraph knows it. Claims of a token are left out, because the server stores it with each run. */
interface AuthenticatedUser {
  readonly identity: string;
  readonly display_name: string;
  readonly is_authenticated: boolean;
  readonly permissions: string[];
}

type Authenticate = (request: Request) => Promise<AuthenticatedUser>;

/** What an open server of this machine accepts; undefined for one that accepts everybody. */
interface LocalRules {
  readonly allowedOrigins: readonly string[];
}

/** Makes the function that authenticates the requests of a server with users. */
export function authenticateUsers({
  keys,
  verifyToken,
}: Pick<Extract<Access, { kind: "users" }>, "keys" | "verifyToken">): Authenticate {
  return async function authenticate(request) {
    if (admitPath(request) === "health") return userNamed(HEALTH_CHECK);
    const credential = credentialOf(request);
    const refuse = (message: string) => refusal(message, isPageRequest(request));
    if (credential === undefined)
      throw refuse("Send an API key as `x-api-key`, or a key or token as `Authorization: Bearer …`.");
    const user = isToken(credential)
      ? await userOfToken(credential, verifyToken, refuse)
      : userOfKey(keys, credential);
    if (user === undefined) throw refuse("The API key is not known.");
    if (user === STUDIO_USER || user === HEALTH_CHECK) throw refuse("The name of the user is reserved.");
    return userNamed(user);
  };
}

/**
 * Makes the function that admits everybody. An open server of this machine refuses requests that were sent to another
 * name and pages of other sites: a browser would otherwise let any page that its user visits use the server.
 */
export function authenticateEverybody(rules: LocalRules | undefined): Authenticate {
  return async function authenticate(request) {
    admitPath(request);
    if (rules !== undefined) admitLocal(request, rules);
    return userNamed(EVERYBODY);
  };
}

/** The server has a route that empties it, and asks nobody before. No client needs it. */
function admitPath({ method, url }: Request): "health" | "other" {
  const [, path = ""] = /^https?:\/\/[^/?#]*([^?#]*)/.exec(url) ?? [];
  if (/^\/+internal(?:\/|$)/i.test(decoded(path))) throw new HTTPException(404, { message: "Not found" });
  return path === "/ok" && (method === "GET" || method === "HEAD") ? "health" : "other";
}

/** The server's router decodes a path before it finds a route. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new HTTPException(400, { message: "The path cannot be decoded." });
  }
}

function admitLocal({ headers }: Request, { allowedOrigins }: LocalRules): void {
  const host = headers.get("host");
  const hostname = host === null ? undefined : hostnameOf(`http://${host}`);
  if (host !== null && (hostname === undefined || !isThisMachine(hostname)))
    throw forbidden("This server has no access control, so it answers programs of this machine only.");
  const origin = headers.get("origin");
  if (origin === null || allowedOrigins.includes(origin)) return;
  const page = hostnameOf(origin);
  if (page !== undefined && (isThisMachine(page) || isStudio(origin, page))) return;
  throw forbidden(
    `This server has no access control, so it does not answer pages of ${origin}. \`ALLOWED_ORIGINS\` can name them.`,
  );
}

function isStudio(origin: string, hostname: string): boolean {
  return origin.startsWith("https://") && /(?:^|\.)smith\.langchain\.com$/.test(hostname);
}

function isToken(credential: string): boolean {
  return credential.split(".").length === 3;
}

async function userOfToken(
  token: string,
  verifyToken: VerifyToken | undefined,
  refuse: (message: string) => HTTPException,
): Promise<string> {
  if (verifyToken === undefined) throw refuse("This server takes API keys, not tokens.");
  try {
    return await verifyToken(token);
  } catch (error) {
    const code = isRecord(error) ? String(error["code"] ?? "") : "";
    if (code === "ERR_JWT_EXPIRED") throw refuse("The token has expired.");
    // The keys of the issuer could not be fetched: the token may be good.
    if (!/^ERR_(?:JW[ST]|JOSE_(?:ALG|NOT)|JWKS_(?:NO|MULTIPLE))/.test(code))
      throw new HTTPException(503, { message: "The keys for tokens cannot be fetched now." });
    throw refuse("The token is not valid.");
  }
}

function userNamed(identity: string): AuthenticatedUser {
  return { identity, display_name: identity, is_authenticated: true, permissions: [] };
}

/** @param asksBrowser Whether a browser asks its user for the key. */
function refusal(message: string, asksBrowser: boolean): HTTPException {
  const scheme = asksBrowser ? 'Basic realm="langgraph-tether", charset="UTF-8"' : "Bearer";
  return new HTTPException(401, { message, headers: { "WWW-Authenticate": scheme } });
}

function forbidden(message: string): HTTPException {
  return new HTTPException(403, { message });
}
