/** What the targets share. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { importOptional } from "../../shared/import-optional.js";
import { parseJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import {
  errorText,
  type ListedThread,
  type ThreadRef,
  type ThreadSelection,
  type ThreadSizes,
} from "../thread-store.js";

/** The latest checkpoint of a thread, or of a subgraph. */
export interface Head extends ThreadRef {
  readonly checkpointId: string;
}

/** What the tables of a database tell without loading any messages. */
export interface ThreadTable {
  /**
   * The heads that follow this place, in the order of thread and namespace.
   *
   * @param threadIds Only these threads. Undefined: all.
   */
  readonly heads: (
    after: ThreadRef | undefined,
    count: number,
    threadIds: readonly string[] | undefined,
  ) => Promise<readonly Head[]>;
  /** The heads of threads, without those of subgraphs, the latest first. */
  readonly recent: (
    offset: number,
    count: number,
    threadIds: readonly string[] | undefined,
  ) => Promise<readonly (Head & { readonly metadata: Readonly<Record<string, unknown>> })[]>;
  readonly headOf: (ref: ThreadRef) => Promise<string | undefined>;
  /** The metadata of a checkpoint. */
  readonly metadataOf: (head: Head) => Promise<Readonly<Record<string, unknown>>>;
  /** Contract: adds up in the database. */
  readonly measure: (threadId: string) => Promise<ThreadSizes | undefined>;
}

/** What the operator can correct: a wrong option or value, a missing package, or a target that cannot be opened. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly isUsageError = true;

  static isInstance(error: unknown): error is UsageError {
    return typeof error === "object" && error !== null && "isUsageError" in error;
  }
}

const LONGEST = 300;

/** The text of an error on one line, without its stack. */
export function reasonOf(error: unknown): string {
  const line = errorText(error).replaceAll(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

const HIDDEN = "***";

/** An address without its password, and without the values of parameters that can be secrets. For reports and errors. */
export function safeAddress(address: string): string {
  if (!URL.canParse(address))
    return address.includes("@") ? `${HIDDEN}${address.slice(address.lastIndexOf("@"))}` : address;
  const url = new URL(address);
  if (url.password !== "") url.password = HIDDEN;
  for (const name of url.searchParams.keys())
    if (/pass|key|token|secret|sig/i.test(name)) url.searchParams.set(name, HIDDEN);
  return url.href.replace(/\/$/, "");
}

/** Contract: returns the text without the secrets. */
export type HideSecrets = (text: string) => string;

/**
 * Hides secrets that an error can repeat: the password of an address, also as it is written in the address, and other
 * values.
 */
export function hideSecrets(address: string | undefined, others: readonly string[] = []): HideSecrets {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  const password = url?.password ?? "";
  const secrets = [password, decode(password), ...others].filter((secret) => secret.length > 2);
  return (text) => {
    const whole = address === undefined ? text : text.replaceAll(address, safeAddress(address));
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), whole);
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Imports a package of the operator's project, and otherwise one that is installed beside this library, which can be
 * in a folder of npx.
 *
 * @param path The entry of the package, such as `./esm/api`.
 * @throws UsageError with the install command, if the package is in neither place.
 */
export async function importPackage<Module>(
  name: string,
  { folder, why, path = "." }: { readonly folder: string; readonly why: string; readonly path?: string },
): Promise<Module> {
  const specifier = path === "." ? name : `${name}${path.slice(1)}`;
  const address = await findPackage(name, path, folder);
  try {
    const loading = importOptional<object>(address ?? specifier);
    return (await loading) as Module;
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    throw new UsageError(
      `${why} needs the package ${name}, which is not installed. Install it: npm install ${name}`,
    );
  }
}

/** Whether Node did not find this package, and not another one that it imports. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = Object(error);
  return (
    (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") &&
    [`'${name}'`, `'${name}/`].some((quoted) => String(message).includes(quoted))
  );
}

/** The file that `import` loads in this folder. Node has no function for it: `require.resolve` gives another file. */
async function findPackage(name: string, path: string, folder: string): Promise<string | undefined> {
  for (const place of createRequire(join(folder, "package.json")).resolve.paths(name) ?? []) {
    const manifest = parseJson(await readFile(join(place, name, "package.json"), "utf8").catch(() => ""));
    if (!isRecord(manifest)) continue;
    const file = importedFile(isRecord(manifest["exports"]) ? manifest["exports"][path] : undefined);
    if (file !== undefined) return pathToFileURL(join(place, name, file)).href;
  }
  return undefined;
}

function importedFile(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry;
  if (!isRecord(entry)) return undefined;
  for (const condition of ["node", "import", "default"]) {
    const found = importedFile(entry[condition]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A dependency of a package, as the package itself requires it. Throws Node's error if it is missing. */
export function requireDependency(name: string, dependency: string, folder: string): unknown {
  let missing: unknown;
  for (const base of [join(folder, "package.json"), import.meta.url]) {
    try {
      return createRequire(createRequire(base).resolve(name))(dependency);
    } catch (error) {
      missing = error;
    }
  }
  throw missing;
}

/*
 * The threads of a database that a selection names, without loading any messages.
 */

const PAGE = 500;
/** Between the beginning of the Gregorian calendar, where the time of a UUID begins, and 1970. */
const GREGORIAN_OFFSET_MS = 12_219_292_800_000;

/** Contract: reads page by page, and keeps one page. */
export async function* selectHeads(
  table: ThreadTable,
  selection: ThreadSelection,
): AsyncGenerator<ThreadRef> {
  const { threadIds, metadata, since, limit = Number.POSITIVE_INFINITY } = selection;
  let chosen: string | undefined;
  let count = 0;
  let after: ThreadRef | undefined;
  for (;;) {
    const heads = await table.heads(after, PAGE, threadIds);
    for (const head of heads) {
      after = head;
      // The subgraphs of a thread directly follow it.
      const isOfChosen = head.threadId === chosen;
      if (!isOfChosen && !(await isSelected(head))) continue;
      if (!isOfChosen) {
        if (count === limit) return;
        count += 1;
        chosen = head.threadId;
      }
      yield { threadId: head.threadId, namespace: head.namespace };
    }
    if (heads.length < PAGE) return;
  }

  async function isSelected(head: Head): Promise<boolean> {
    if (since !== undefined && (timeOf(head.checkpointId) ?? Number.POSITIVE_INFINITY) < since.getTime())
      return false;
    return metadata === undefined || hasMetadata(await table.metadataOf(head), metadata);
  }
}

/** See `ThreadStore.recent`. */
export async function selectRecent(
  table: ThreadTable,
  { threadIds, metadata = {}, limit = Number.POSITIVE_INFINITY }: ThreadSelection,
  offset: number,
): Promise<readonly ListedThread[]> {
  const found: ListedThread[] = [];
  for (let start = 0; ; start += PAGE) {
    const heads = await table.recent(start, PAGE, threadIds);
    found.push(...heads.filter((head) => hasMetadata(head.metadata, metadata)));
    if (heads.length < PAGE || found.length >= offset + limit) return found.slice(offset, offset + limit);
  }
}

function hasMetadata(own: Readonly<Record<string, unknown>>, wanted: Readonly<Record<string, string>>) {
  return Object.entries(wanted).every(([key, value]) => String(own[key]) === value);
}

/** When a checkpoint was made, by its id, which is a UUID of version 6; undefined for another id. */
function timeOf(checkpointId: string): number | undefined {
  const [, high, middle, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/i.exec(checkpointId) ?? [];
  if (high === undefined) return undefined;
  return Number(BigInt(`0x${high}${middle}${low}`) / 10_000n) - GREGORIAN_OFFSET_MS;
}
