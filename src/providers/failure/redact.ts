/** Removes keys from texts. Providers repeat keys in their errors. */

import { nativeClassOf } from "../../shared/values.js";
import { PROVIDERS } from "../table/providers.js";

const REDACTED = "[redacted]";

/** Patterns of keys. They apply wherever a key comes from. */
const LOOKS_SECRET: readonly RegExp[] = [
  // Blanks are read back from where a word begins, and not from each of them.
  /(?<=\s)(?=\S)(?<=\b(?:Bearer|Basic)\s+)[\w.~+/=*-]{16,}/gi,
  new RegExp(`\\b(?:${PROVIDERS.flatMap(({ secrets = [] }) => secrets).join("|")})`, "g"),
  /(?<=[?&](?:api[-_]?key|key|token|access_token|sig|signature)=)[^&\s"']+/gi,
  /(?<=:\/\/)[^/\s:@]+:[^/\s@]+(?=@)/g,
];

/** Contract: returns the text without known secrets and without anything that looks like one. */
export type Redact = (text: string) => string;

/** @param model The request's model. Its own keys are found wherever it keeps them. */
export function createRedact(model: object): Redact {
  // Longest first, because one secret can begin with another.
  const secrets = [...secretsOf(model)].sort((one, other) => other.length - one.length);
  return (text) => {
    const known = secrets.reduce(withoutSecret, text);
    return LOOKS_SECRET.reduce((rest, pattern) => rest.replace(pattern, REDACTED), known);
  };
}

function withoutSecret(text: string, secret: string): string {
  if (secret.length >= LEAST_LENGTH) return text.replaceAll(secret, REDACTED);
  const parts: string[] = [];
  let end = 0;
  for (let start = text.indexOf(secret); start !== -1; ) {
    const after = start + secret.length;
    // A short secret can also be part of an ordinary word.
    const isAlone = ![text.charAt(start - 1), text.charAt(after)].some((next) => IN_WORD.test(next));
    if (isAlone) {
      parts.push(text.slice(end, start));
      end = after;
    }
    start = text.indexOf(secret, isAlone ? after : start + 1);
  }
  return [...parts, text.slice(end)].join(REDACTED);
}

const IN_WORD = /[A-Za-z0-9]/;

/*
 * The secrets of a client: its keys, and the values that it sends in headers and queries.
 */

/** Names under which clients keep keys and send them. */
const SECRET_NAME =
  /key|token|secret|password|credential|auth(?!or(?!i[sz]))|cookie|session|signature|(?:^|[-_])sig$/i;
/** A field that holds a key, however short: a private gateway can have keys of any length. */
const KEY_NAME = /api[-_]?key$/i;
/** Every value in these fields is secret unless it is listed as harmless. */
const SENT_NAME = /headers$|^default_?query$/i;
const HARMLESS_NAME =
  /^(?:accept.*|content-.*|user-agent|connection|host|origin|(?:http-)?referer|x-title|x-stainless-.*|.*-beta|.*version)$/i;
const HARMLESS_VALUE = /^(?:true|false|null)$/i;

/** Minimum length where only the field name suggests a secret. */
const LEAST_LENGTH = 8;
const SHORTEST = 4;
const DEEPEST = 3;

/** A model's or client's secrets, in each form in which a text can repeat them. */
function secretsOf(holder: object): ReadonlySet<string> {
  const found = new Set<string>();
  findSecrets(holder, found, new Set(), 0);
  return found;
}

function findSecrets(holder: object, found: Set<string>, seen: Set<object>, depth: number): void {
  seen.add(holder);
  for (const [name, value] of entriesOf(holder)) {
    if (typeof value === "string" && SECRET_NAME.test(name)) {
      addSecret(found, name, value, KEY_NAME.test(name) ? SHORTEST : LEAST_LENGTH);
    }
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    if (SENT_NAME.test(name)) addSent(found, value);
    else if (depth < DEEPEST) findSecrets(value, found, seen, depth + 1);
  }
}

/** Adds every header or query parameter except harmless ones. */
function addSent(found: Set<string>, fields: object): void {
  for (const [name, given] of sentOf(fields)) {
    if (HARMLESS_NAME.test(name)) continue;
    for (const value of [given].flat()) {
      if (typeof value === "string" && !HARMLESS_VALUE.test(value)) addSecret(found, name, value, SHORTEST);
    }
  }
}

function addSecret(found: Set<string>, name: string, value: string, least: number): void {
  for (const part of secretsIn(name, value.trim())) {
    // The plain form and the URL form. A URL cannot hold half of a surrogate pair.
    const forms = [
      part,
      encodeURIComponent(part.toWellFormed()),
      new URLSearchParams([["", part]]).toString().slice(1),
    ];
    for (const form of forms) if (part.length >= least) found.add(form);
  }
}

/** A header can hold more than its secret, and a text can repeat the secret alone. */
function secretsIn(name: string, value: string): readonly string[] {
  if (/cookie/i.test(name)) {
    return [value, ...value.split(";").map((pair) => pair.slice(pair.indexOf("=") + 1).trim())];
  }
  const bare = value.replace(/^(?:Bearer|Basic)\s+/i, "");
  const credential = /auth/i.test(name) ? /^[A-Za-z-]+\s+(\S+)$/.exec(bare)?.[1] : undefined;
  return credential === undefined ? [bare] : [bare, credential];
}

function entriesOf(holder: object): readonly (readonly [string, unknown])[] {
  return isHeaders(holder) ? [...holder] : Object.entries(holder);
}

/** Headers of any `fetch`, not only of Node's own. */
function isHeaders(holder: object): holder is Headers {
  return nativeClassOf(holder) === "Headers" && Symbol.iterator in holder;
}

/** Clients also accept lists of pairs. */
function sentOf(fields: object): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(fields)) return entriesOf(fields);
  return fields.flatMap((pair) =>
    Array.isArray(pair) && pair.length === 2 ? [[String(pair[0]), pair[1]]] : [],
  );
}
