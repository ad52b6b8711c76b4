/** Says who sends a request, or refuses it. It is the first of our code that sees a request. */

import { createHash, createPublicKey, createSecretKey, randomBytes, timingSafeEqual } from "node:crypto";
import { HTTPException } from "@langchain/langgraph-sdk/auth";
import { auth as basicAuthOf } from "hono/utils/basic-auth";
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { InvalidSettingError } from "../../src/errors.js";
import { namesThisMachine } from "../../src/inspector/this-machine.js";
import { safely } from "../../src/shared/json.js";
import { isRecord } from "../../src/shared/values.js";
import type { ServerSettings } from "./server-settings.js";

/** Who asks whether the server lives. It has no rights. */
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
 * Makes the function that admits everybody. An open server of this machine refuses requests that were sent to another
 * name and pages of other sites: a browser would otherwise let any page that its user visits use the server.
 *
 * @param allowedOrigins The pages that may use an open server of this machine, besides its own. Undefined: the server
 * accepts everybody.
 */
export function authenticateEverybody(allowedOrigins: readonly string[] | undefined): Authenticate {
  return async function authenticate(request) {
    admitPath(request);
    if (allowedOrigins !== undefined) admitLocal(request, allowedOrigins);
    return userNamed(EVERYBODY);
  };
}

/** The server has a route that empties it, and asks nobody before. No client needs it. */
function admitPath({ method, url }: Request): "health" | "other" {
  const path = pathOf(url);
  if (/^\/+internal(?:\/|$)/i.test(decoded(path))) throw new HTTPException(404, { message: "Not found" });
  return path === "/ok" && (method === "GET" || method === "HEAD") ? "health" : "other";
}

/** As it was sent: a URL would resolve its dots. */
function pathOf(url: string): string {
  return /^https?:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "";
}

/** The server's router decodes a path before it finds a route. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new HTTPException(400, { message: "The path cannot be decoded." });
  }
}

function admitLocal({ headers }: Request, allowedOrigins: readonly string[]): void {
  const host = headers.get("host");
  if (host !== null && !namesThisMachine(`http://${host}`))
    throw forbidden("This server has no access control, so it answers programs of this machine only.");
  const origin = headers.get("origin");
  if (origin === null || allowedOrigins.includes(origin)) return;
  const { protocol, hostname } = Object(URL.canParse(origin) && new URL(origin));
  const isStudio = protocol === "https:" && /(?:^|\.)smith\.langchain\.com$/.test(hostname);
  if (namesThisMachine(origin) || isStudio) return;
  throw forbidden(
    `This server has no access control, so it does not answer pages of ${origin}. \`ALLOWED_ORIGINS\` can name them.`,
  );
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

/** A user as LangGraph knows it. Claims of a token are left out, because the server stores it with each run. */
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
 * The key or the token of a request. The SDK's clients send a key of LangSmith on their own if the environment has one,
 * so `Authorization` comes first.
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
 * Whether the request asks for a page of the inspector. A browser sends what its user typed in with every request to the
 * server, also with those that a page of another site makes. So a typed key counts only where nothing can be changed.
 */
function isPageRequest({ method, url }: Request): boolean {
  return (method === "GET" || method === "HEAD") && /^\/tether(?:\.json|\/.*)?$/.test(pathOf(url));
}

/*
 * API keys. The server knows only their hashes. A key has 256 random bits, so a fast hash is enough: nobody can try all
 * keys. A password that a human chose would need a slow one.
 */

const PREFIX = "tether_";
const ENTRY = /^([^:\s,#][^:\s,]*):sha256-([0-9a-f]{64})$/;

/** One key that may be used. */
interface ApiKeyEntry {
  readonly user: string;
  readonly digest: Buffer;
}

/** A new key of a user, and the entry that allows it. The key cannot be read from the entry. */
export function makeApiKey(user: string): { readonly key: string; readonly entry: string } {
  const key = `${PREFIX}${randomBytes(32).toString("base64url")}`;
  const entry = `${user}:sha256-${digestOf(key).toString("hex")}`;
  if (!ENTRY.test(entry))
    throw InvalidSettingError.expected("user", "a name without spaces, commas and colons", user);
  return { key, entry };
}

/**
 * Reads entries that are separated by commas or line breaks. Lines that begin with `#` are comments.
 *
 * @param setting What errors call the text. They name the place of an entry, because the entry may be a key.
 * @throws InvalidSettingError for an entry of another form, or if there is none.
 */
export function readApiKeys(text: string, setting: string): readonly ApiKeyEntry[] {
  const entries = text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .flatMap((line) => line.split(","))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry, index) => {
      const [, user, digest] = ENTRY.exec(entry) ?? [];
      if (user !== undefined && digest !== undefined) return { user, digest: Buffer.from(digest, "hex") };
      throw new InvalidSettingError(
        setting,
        `Expected entry ${index + 1} of \`${setting}\` to be \`user:sha256-\` and 64 hexadecimal digits. Make one with \`npm run api-key -- USER\`. The entry is not shown, because it may be a key.`,
      );
    });
  if (entries.length === 0)
    throw new InvalidSettingError(setting, `Expected \`${setting}\` to have at least one API key.`);
  return entries;
}

/**
 * The user of a key, or undefined for an unknown key. All entries are compared, each in constant time, so the time says
 * nothing about a key.
 */
export function userOfKey(entries: readonly ApiKeyEntry[], key: string): string | undefined {
  const given = digestOf(key);
  let found: string | undefined;
  for (const { user, digest } of entries) if (timingSafeEqual(given, digest)) found = user;
  return found;
}

function digestOf(key: string): Buffer {
  return createHash("sha256").update(key, "utf8").digest();
}

/*
 * JSON Web Tokens of another service, which says who its users are.
 */

/** Contract: returns the user of a token. Rejects for every token that is not valid now. */
type VerifyToken = (token: string) => Promise<string>;

/** A name without half of a pair of surrogates, which a namespace of the store could not have. */
const USER_NAME = /^\P{Surrogate}{1,255}$/u;
/** How far the clocks of two machines may differ, in seconds. */
const CLOCK_TOLERANCE = 5;

/** The kind of key that the algorithms of a family need, as Node names it. */
const KEY_KINDS: Readonly<Record<string, string>> = { RS: "rsa", PS: "rsa", ES: "ec", Ed: "ed25519" };

/**
 * Makes the check of tokens, or returns undefined if no variable of `AUTH_JWT_` is set.
 *
 * The algorithm, the issuer and the audience are pinned, and a token without an expiry or a user is refused.
 *
 * @throws InvalidSettingError if only a part of the variables is set. It names what is missing.
 */
export function createTokenCheck(settings: ServerSettings): VerifyToken | undefined {
  const { AUTH_JWT_ISSUER: issuer, AUTH_JWT_AUDIENCE: audience, AUTH_JWT_ALGORITHM: algorithm } = settings;
  const { AUTH_JWT_JWKS_URL: address, AUTH_JWT_KEY: key, AUTH_JWT_USER_CLAIM: claim } = settings;
  const given = [issuer, audience, algorithm, address, key];
  if (given.every((value) => value === undefined) && claim === "sub") return undefined;
  if (issuer === undefined) throw missing("AUTH_JWT_ISSUER");
  if (audience === undefined) throw missing("AUTH_JWT_AUDIENCE");
  if (algorithm === undefined) throw missing("AUTH_JWT_ALGORITHM");
  const source = readSource(algorithm, address, key);
  const options = {
    issuer,
    audience,
    algorithms: [algorithm],
    requiredClaims: ["exp", claim],
    clockTolerance: CLOCK_TOLERANCE,
  };
  return async function verifyToken(token) {
    const { payload } = await jwtVerify(token, source, options);
    const user = payload[claim];
    if (typeof user === "string" && USER_NAME.test(user)) return user;
    throw new errors.JWTClaimValidationFailed(`The claim "${claim}" is no name of a user.`, payload, claim);
  };
}

function readSource(
  algorithm: string,
  address: string | undefined,
  key: string | undefined,
): JWTVerifyGetKey {
  const refuse = (expected: string) => new InvalidSettingError("AUTH_JWT_KEY", `Expected ${expected}.`);
  if (address !== undefined && key !== undefined)
    throw refuse("one of `AUTH_JWT_JWKS_URL` and `AUTH_JWT_KEY`, and both are set");
  // The least bits that a secret must have (RFC 7518, section 3.2).
  const [, bits] = /^HS(\d+)$/.exec(algorithm) ?? [];
  if (address !== undefined) {
    // Keys that come over plain HTTP could be those of somebody on the way.
    if (!address.startsWith("https:") && !namesThisMachine(address))
      throw InvalidSettingError.expected(
        "AUTH_JWT_JWKS_URL",
        "an https URL, or one of this machine",
        address,
      );
    if (bits === undefined) return createRemoteJWKSet(new URL(address));
    throw missing("AUTH_JWT_KEY", `${algorithm} needs a secret instead of AUTH_JWT_JWKS_URL`);
  }
  if (key === undefined)
    throw missing("AUTH_JWT_KEY", "tokens need a key, or the address of keys in AUTH_JWT_JWKS_URL");
  const text = key.replaceAll("\\n", "\n");
  if (bits !== undefined) {
    const secret = Buffer.from(text, "utf8");
    const least = Number(bits) / 8;
    if (secret.length < least || text.includes("-----BEGIN"))
      throw refuse(`\`AUTH_JWT_KEY\` to be a secret of at least ${least} bytes for ${algorithm}`);
    return async () => createSecretKey(secret);
  }
  if (!text.includes("-----BEGIN PUBLIC KEY-----"))
    throw refuse(
      `\`AUTH_JWT_KEY\` to be a public key in PEM form (\`-----BEGIN PUBLIC KEY-----\`) for ${algorithm}`,
    );
  const kind = KEY_KINDS[algorithm.slice(0, 2)];
  const publicKey = safely(() => createPublicKey(text));
  const given = publicKey?.asymmetricKeyType;
  if (publicKey !== undefined && given === kind) return async () => publicKey;
  const what = publicKey === undefined ? "and it cannot be read" : `got one of the kind ${given}`;
  throw refuse(`\`AUTH_JWT_KEY\` to be a key of the kind ${kind} for ${algorithm}, ${what}`);
}

function missing(setting: string, why = "tokens are configured only in part"): InvalidSettingError {
  return new InvalidSettingError(setting, `Expected \`${setting}\` to be set, because ${why}.`);
}

/**
 * Whether the server listens for this machine only. LangGraph's development server says so in `LANGGRAPH_API_URL`.
 * Other servers say nothing, and they listen for everybody.
 */
export function listensToThisMachine(environment: Readonly<Record<string, string | undefined>>): boolean {
  return namesThisMachine(environment["LANGGRAPH_API_URL"] ?? "");
}
