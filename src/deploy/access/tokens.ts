/** JSON Web Tokens of another service, which says who its users are. */

import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { InvalidSettingError } from "../../errors.js";
import type { ServerSettings } from "./server-settings.js";
import { isThisMachine } from "./this-machine.js";

/** Contract: returns the user of a token. Rejects for every token that is not valid now. */
export type VerifyToken = (token: string) => Promise<string>;

/** The least bytes that a secret of an algorithm must have (RFC 7518, section 3.2). */
const SECRET_BYTES: Readonly<Record<string, number>> = { HS256: 32, HS384: 48, HS512: 64 };
/** A name without half of a pair of surrogates, which a namespace of the store could not have. */
const USER_NAME = /^\P{Surrogate}{1,255}$/u;
/** How far the clocks of two machines may differ, in seconds. */
const CLOCK_TOLERANCE = 5;

/** The kind of key that the algorithms of a family need, as Node names it. */
const KEY_KINDS: Readonly<Record<string, string>> = { RS: "rsa", PS: "rsa", ES: "ec", Ed: "ed25519" };

type KeySource = { readonly get: JWTVerifyGetKey } | { readonly key: KeyObject };

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
    const { payload } =
      "get" in source
        ? await jwtVerify(token, source.get, options)
        : await jwtVerify(token, source.key, options);
    const user = payload[claim];
    if (typeof user === "string" && USER_NAME.test(user)) return user;
    throw new errors.JWTClaimValidationFailed(`The claim "${claim}" is no name of a user.`, payload, claim);
  };
}

function readSource(algorithm: string, address: string | undefined, key: string | undefined): KeySource {
  if (address !== undefined && key !== undefined) {
    const message = "Expected one of `AUTH_JWT_JWKS_URL` and `AUTH_JWT_KEY`, and both are set.";
    throw new InvalidSettingError("AUTH_JWT_KEY", message);
  }
  const secretBytes = SECRET_BYTES[algorithm];
  if (address !== undefined) {
    if (!isSafeAddress(address))
      throw InvalidSettingError.expected(
        "AUTH_JWT_JWKS_URL",
        "an https URL, or one of this machine",
        address,
      );
    if (secretBytes === undefined) return { get: createRemoteJWKSet(new URL(address)) };
    throw missing("AUTH_JWT_KEY", `${algorithm} needs a secret instead of AUTH_JWT_JWKS_URL`);
  }
  if (key === undefined)
    throw missing("AUTH_JWT_KEY", "tokens need a key, or the address of keys in AUTH_JWT_JWKS_URL");
  const text = key.replaceAll("\\n", "\n");
  if (secretBytes !== undefined) {
    const secret = Buffer.from(text, "utf8");
    if (secret.length >= secretBytes && !text.includes("-----BEGIN")) return { key: createSecretKey(secret) };
    const message = `Expected \`AUTH_JWT_KEY\` to be a secret of at least ${secretBytes} bytes for ${algorithm}.`;
    throw new InvalidSettingError("AUTH_JWT_KEY", message);
  }
  if (!text.includes("-----BEGIN PUBLIC KEY-----")) {
    const message = `Expected \`AUTH_JWT_KEY\` to be a public key in PEM form (\`-----BEGIN PUBLIC KEY-----\`) for ${algorithm}.`;
    throw new InvalidSettingError("AUTH_JWT_KEY", message);
  }
  return { key: readPublicKey(text, algorithm) };
}

/** Keys that come over plain HTTP could be those of somebody on the way. */
function isSafeAddress(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || isThisMachine(hostname);
}

function readPublicKey(text: string, algorithm: string): KeyObject {
  const kind = KEY_KINDS[algorithm.slice(0, 2)];
  const refusal = (what: string) =>
    new InvalidSettingError(
      "AUTH_JWT_KEY",
      `Expected \`AUTH_JWT_KEY\` to be a key of the kind ${kind} for ${algorithm}, ${what}.`,
    );
  let key: KeyObject;
  try {
    key = createPublicKey(text);
  } catch {
    throw refusal("and it cannot be read");
  }
  if (key.asymmetricKeyType === kind) return key;
  throw refusal(`got one of the kind ${key.asymmetricKeyType}`);
}

function missing(setting: string, why = "tokens are configured only in part"): InvalidSettingError {
  return new InvalidSettingError(setting, `Expected \`${setting}\` to be set, because ${why}.`);
}
