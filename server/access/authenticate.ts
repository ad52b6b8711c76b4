/** Says who sends a request, or refuses it. It is the first of our code that sees a request. */

import { createHash, createPublicKey, timingSafeEqual } from "node:crypto";
import { HTTPException } from "@langchain/langgraph-sdk/auth";
import { auth as basicAuthOf } from "hono/utils/basic-auth";
import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { InvalidSettingError } from "../../src/errors.js";
import { namesThisMachine } from "../../src/inspector/this-machine.js";
import { safely } from "../../src/shared/json.js";
import { isRecord } from "../../src/shared/values.js";
import type { Environment, ServerSettings } from "./server-settings.js";

/** Whoever asks whether the server lives. It has no rights. */
export const HEALTH_CHECK = "%health";
/** All clients of an open server. */
export const EVERYBODY = "everybody";
/** The user that the server makes of LangGraph Studio. */
export const STUDIO_USER = "langgraph-studio-user";

type Authenticate = (request: Request) => Promise<ReturnType<typeof userNamed>>;

/** What tells one user of the server from another. */
export interface Credentials {
  readonly keys: readonly ApiKeyEntry[];
  readonly verifyToken: VerifyToken | undefined;
}

/** Makes the function that authenticates the requests of a server with users. */
export function authenticateUsers({ keys, verifyToken }: Credentials): Authenticate {
  return async function authenticate(request) {
    if (admitPath(request) === "health") return userNamed(HEALTH_CHECK);
    const credential = credentialOf(request);
    const refuse = (message: string) => refusal(message, isPageRequest(request));
    if (credential === undefined)
      throw refuse("Send an API key as `x-api-key`, or a key or token as `Authorization: Bearer …`.");
    const isToken = credential.split(".").length === 3;
    const user = isToken ? await userOfToken(credential, verifyToken, refuse) : userOfKey(keys, credential);
    if (user === undefined) throw refuse("The API key is not known.");
    if (user === STUDIO_USER || user === HEALTH_CHECK) throw refuse("The name of the user is reserved.");
    return userNamed(user);
  };
}

/**
 * Makes the function that admits everybody. An open server on this machine refuses requests sent to another name, and
 * other sites' pages. A browser would otherwise let any page that its user visits use the server.
 *
 * @param allowedOrigins The pages that may use an open server on this machine, besides its own. Undefined: the server
 * accepts everybody.
 */
export function authenticateEverybody(allowedOrigins: readonly string[] | undefined): Authenticate {
  return async function authenticate(request) {
    admitPath(request);
    if (allowedOrigins !== undefined) admitLocal(request, allowedOrigins);
    return userNamed(EVERYBODY);
  };
}

/** The server has a route that empties it without asking. No client needs it. */
function admitPath({ method, url }: Request): "health" | "other" {
  const path = pathOf(url);
  // The server's router decodes a path before it finds a route.
  const decoded = safely(() => decodeURIComponent(path));
  if (decoded === undefined) throw new HTTPException(400, { message: "The path cannot be decoded." });
  if (/^\/+internal(?:\/|$)/i.test(decoded)) throw new HTTPException(404, { message: "Not found" });
  return path === "/ok" && (method === "GET" || method === "HEAD") ? "health" : "other";
}

/** As it was sent: a URL would resolve its dots. */
function pathOf(url: string): string {
  return /^https?:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "";
}

const STUDIO_PAGE = /^https:\/\/(?:[\w-]+\.)*smith\.langchain\.com$/;

function admitLocal({ headers }: Request, allowedOrigins: readonly string[]): void {
  const host = headers.get("host");
  if (host !== null && !namesThisMachine(`http://${host}`))
    throw forbidden("This server has no access control, so it answers programs of this machine only.");
  const origin = headers.get("origin");
  if (origin === null || allowedOrigins.includes(origin)) return;
  if (namesThisMachine(origin) || STUDIO_PAGE.test(origin)) return;
  throw forbidden(
    `This server has no access control, so it does not answer pages of ${origin}. \`ALLOWED_ORIGINS\` can name them.`,
  );
}

async function userOfToken(
  token: string,
  verifyToken: VerifyToken | undefined,
  refuse: (message: string) => HTTPException,
): Promise<string> {
  if (verifyToken === undefined) throw refuse("This server accepts API keys, not tokens.");
  try {
    return await verifyToken(token);
  } catch (error) {
    const code = isRecord(error) ? String(error["code"] ?? "") : "";
    if (code === "ERR_JWT_EXPIRED") throw refuse("The token has expired.");
    // The issuer's keys could not be fetched: the token may be good.
    if (!/^ERR_(?:JW[ST]|JOSE_(?:ALG|NOT)|JWKS_(?:NO|MULTIPLE))/.test(code))
      throw new HTTPException(503, { message: "The keys for tokens cannot be fetched now." });
    throw refuse("The token is not valid.");
  }
}

/** A user as LangGraph knows it. Token claims are left out, because the server stores them with each run. */
function userNamed(identity: string) {
  return { identity, display_name: identity, is_authenticated: true, permissions: [] as string[] };
}

/** @param asksBrowser Whether a browser asks its user for the key. */
function refusal(message: string, asksBrowser: boolean): HTTPException {
  const scheme = asksBrowser ? 'Basic realm="langgraph-tether", charset="UTF-8"' : "Bearer";
  return new HTTPException(401, { message, headers: { "WWW-Authenticate": scheme } });
}

export function forbidden(message: string): HTTPException {
  return new HTTPException(403, { message });
}

/*
 * The key or the token that a request carries.
 */

/**
 * A request's key or token. The SDK's clients send a LangSmith key on their own if the environment has one, so
 * `Authorization` comes first.
 */
export function credentialOf(request: Request): string | undefined {
  const authorization = request.headers.get("authorization") ?? "";
  const [, bearer] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (bearer !== undefined) return bearer;
  // The name before the password does not count, as the key names its user.
  const { password = "" } = (isPageRequest(request) && basicAuthOf(request)) || {};
  const typed = /\s/.test(password) ? "" : password;
  return typed || request.headers.get("x-api-key")?.trim() || undefined;
}

/**
 * Whether the request asks for an inspector page. A browser sends what its user typed with every request to the server,
 * even those of another site's page. So a typed key counts only where nothing can be changed.
 */
function isPageRequest({ method, url }: Request): boolean {
  return (method === "GET" || method === "HEAD") && /^\/tether(?:\.json|\/.*)?$/.test(pathOf(url));
}

/*
 * API keys. The server knows only their hashes. A key has 256 random bits, so a fast hash is enough: nobody can try all
 * keys. A password that a human chose would need a slow one.
 */

const ENTRY = /^([^:\s,#][^:\s,]*):sha256-([0-9a-f]{64})$/;

/** One key that may be used. */
interface ApiKeyEntry {
  readonly user: string;
  readonly digest: Buffer;
}

/**
 * Reads entries separated by commas or line breaks.
 *
 * @throws InvalidSettingError for an entry of another form. It names the entry's place, because the entry may be a key.
 */
export function readApiKeys(text: string): readonly ApiKeyEntry[] {
  return (text.match(/[^,\s]+/g) ?? [""]).map((entry, index) => {
    const [, user, digest] = ENTRY.exec(entry) ?? [];
    if (user !== undefined && digest !== undefined) return { user, digest: Buffer.from(digest, "hex") };
    throw new InvalidSettingError(
      "AUTH_API_KEYS",
      `Expected entry ${index + 1} of \`AUTH_API_KEYS\` to be \`user:sha256-\` and 64 hexadecimal digits. Make one with \`npm run api-key -- USER\`. The entry is not shown, because it may be a key.`,
    );
  });
}

/**
 * A key's user; undefined for an unknown key. All entries are compared, each in constant time, so the time says nothing
 * about a key.
 */
export function userOfKey(entries: readonly ApiKeyEntry[], key: string): string | undefined {
  const given = createHash("sha256").update(key, "utf8").digest();
  let found: string | undefined;
  for (const { user, digest } of entries) if (timingSafeEqual(given, digest)) found = user;
  return found;
}

/*
 * Another service's JSON Web Tokens, which say who its users are.
 */

/** Contract: returns the user of a token. Rejects for every token that is not valid now. */
type VerifyToken = (token: string) => Promise<string>;

/** A name without half of a pair of surrogates, which a namespace of the store could not have. */
const USER_NAME = /^\P{Surrogate}{1,255}$/u;
/** How far the clocks of two machines may differ, in seconds. */
const CLOCK_TOLERANCE = 5;
/** How many bytes a secret must have for HS256 (RFC 7518, section 3.2). */
const LEAST_SECRET = 32;

/**
 * Makes the check of tokens; undefined if no variable of `AUTH_JWT_` is set. The issuer and the audience are pinned,
 * and a token without an expiry or a user is refused.
 *
 * @throws InvalidSettingError if only some of the variables are set. It names what is missing.
 */
export function createTokenCheck(settings: ServerSettings): VerifyToken | undefined {
  const { AUTH_JWT_ISSUER: issuer, AUTH_JWT_AUDIENCE: audience } = settings;
  const { AUTH_JWT_USER_CLAIM: claim = "sub" } = settings;
  const given = Object.entries(settings).filter(([name]) => name.startsWith("AUTH_JWT_"));
  if (given.every(([, value]) => value === undefined)) return undefined;
  if (issuer === undefined) throw incomplete("AUTH_JWT_ISSUER");
  if (audience === undefined) throw incomplete("AUTH_JWT_AUDIENCE");
  const { keys, ...allowed } = readTokenKeys(settings);
  const requiredClaims = ["exp", claim];
  return async function verifyToken(token) {
    const options = { ...allowed, issuer, audience, requiredClaims, clockTolerance: CLOCK_TOLERANCE };
    const { payload } = await jwtVerify(token, keys, options);
    const user = payload[claim];
    if (typeof user === "string" && USER_NAME.test(user)) return user;
    throw new errors.JWTClaimValidationFailed(`The claim "${claim}" is no name of a user.`, payload, claim);
  };
}

/**
 * A set of public keys takes no algorithm for secrets, and none that does not fit a key's kind. So it needs no list of
 * them.
 */
function readTokenKeys(settings: ServerSettings): { keys: JWTVerifyGetKey; algorithms?: string[] } {
  const { AUTH_JWT_JWKS_URL: address, AUTH_JWT_KEY: key } = settings;
  if (key === undefined) {
    if (address === undefined) throw incomplete("AUTH_JWT_JWKS_URL` or `AUTH_JWT_KEY");
    return { keys: createRemoteJWKSet(new URL(address)) };
  }
  const refuse = (expected: string) => new InvalidSettingError("AUTH_JWT_KEY", `Expected ${expected}.`);
  if (address !== undefined) throw refuse("one of `AUTH_JWT_JWKS_URL` and `AUTH_JWT_KEY`, and both are set");
  const secret = Buffer.from(key);
  const isSecret = !key.includes("-----BEGIN");
  if (isSecret && secret.length >= LEAST_SECRET) return { keys: async () => secret, algorithms: ["HS256"] };
  // Node would also take the public part of a private key.
  const isPublic = key.includes("-----BEGIN PUBLIC KEY-----");
  const jwk = safely(() => createPublicKey(key.replaceAll("\\n", "\n")).export({ format: "jwk" }));
  if (!isPublic || jwk === undefined)
    throw refuse(
      `\`AUTH_JWT_KEY\` to be a public key in PEM form, or a secret of at least ${LEAST_SECRET} bytes`,
    );
  const keys = createLocalJWKSet({ keys: [jwk] });
  // There is one key, whatever a token calls it.
  return { keys: async ({ kid: _, ...header }) => keys(header) };
}

function incomplete(setting: string): InvalidSettingError {
  const message = `Expected \`${setting}\` to be set, because tokens are configured only in part.`;
  return new InvalidSettingError(setting, message);
}

/**
 * Whether the server listens only for this machine. LangGraph's development server says so in `LANGGRAPH_API_URL`.
 * Other servers say nothing, and listen for everybody.
 */
export function listensToThisMachine(environment: Environment): boolean {
  return namesThisMachine(environment["LANGGRAPH_API_URL"] ?? "");
}
