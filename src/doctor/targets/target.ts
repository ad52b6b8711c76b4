/** What a kind of target is, and what the kinds share. */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { OptionValues } from "commander";
import { importOptional } from "../../shared/import-optional.js";
import { safely } from "../../shared/json.js";
import { decoded, oneLine } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { errorText, type ThreadStore } from "../thread-store.js";

/** A kind of place that stores threads. Everything about the kind is in its file. */
export interface TargetKind {
  /** The option that names a place of this kind. */
  readonly option: TargetOption;
  /** The options that say more about the place. Kinds can share them. */
  readonly further: readonly TargetOption[];
  readonly canWrite: boolean;
  /**
   * Contract: changes nothing.
   *
   * @throws UsageError if the place cannot be opened.
   */
  readonly open: (options: OptionValues, context: OpenContext) => Promise<ThreadStore>;
  /** The options for a place that a receipt names; undefined for a place of another kind. */
  readonly fromReceipt: (target: string) => OptionValues | undefined;
}

export interface OpenContext {
  /** If false, a database is opened so that it refuses every write. */
  readonly canWrite: boolean;
  /** Where paths begin, and where packages are looked for. */
  readonly folder: string;
  /** Contract: the variables that langgraph.json names are added to it. */
  readonly environment: Record<string, string | undefined>;
  readonly readInput: () => Promise<string>;
  /**
   * Whether a database opens only with its graph, because a repair is planned and written through it. Otherwise it is
   * read without one if none is named, and it is unknown which nodes run next.
   *
   * @default false
   */
  readonly needsGraph?: boolean;
  /** See `GraphStoreOptions`. */
  readonly quietMs?: number | undefined;
  /** Milliseconds. @default the clock */
  readonly now?: (() => number) | undefined;
}

/** How many threads are read at once. */
export const THREADS_AT_ONCE = 4;

/** An option as data: who only reads threads loads no command line. */
export interface TargetOption {
  /** Such as `--api-key-env <NAME>`. */
  readonly flags: string;
  /** Such as `--api-key-env`. */
  readonly long: string;
  /** Its name among the options of a command, such as `apiKeyEnv`. */
  readonly key: string;
  readonly description: string;
  read(text: string, former: unknown): unknown;
}

/**
 * @param read Returns the option's value, or throws a {@link UsageError}. It gets the same option's earlier value. By
 * default, a text must not be empty.
 */
export function optionOf<Value>(
  flags: string,
  description: string,
  read?: (text: string, former: Value) => Value,
): TargetOption {
  const [long = ""] = flags.split(" ");
  const key = long.replace("--", "").replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const notEmpty = (text: string): string => {
    if (text === "") throw new UsageError(`Expected ${long} not to be empty.`);
    return text;
  };
  return { flags, long, key, description, read: read ?? notEmpty };
}

/** For an option that can be given more than once. An error shows only its name, because the value can be a secret. */
export function readPairs(
  option: string,
): (text: string, former: readonly Pair[] | undefined) => readonly Pair[] {
  return (text, former = []) => {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(`Expected ${option} to be KEY=VALUE.`);
    return [...former, [text.slice(0, at).trim(), text.slice(at + 1).trim()]];
  };
}

export type Pair = readonly [key: string, value: string];

/** What the operator can correct: a wrong option or value, a missing package, or a target that cannot be opened. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly isUsageError = true;

  static isInstance(error: unknown): error is UsageError {
    return typeof error === "object" && error !== null && "isUsageError" in error;
  }
}

const LONGEST = 300;

/** An error's text on one line, without its stack. */
export function reasonOf(error: unknown): string {
  return oneLine(errorText(error), LONGEST);
}

/** What stands for a secret. */
export const HIDDEN = "***";

/** An address without its password and secret parameter values, for reports and errors. */
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

/** Hides secrets that an error can repeat: an address's password, also as written in the address, and other values. */
export function hideSecrets(address: string, others: readonly string[] = []): HideSecrets {
  const password = URL.canParse(address) ? new URL(address).password : "";
  // Longest first, because one secret can begin with another.
  const secrets = [password, decoded(password), ...others]
    .filter((secret) => secret.length > 2)
    .sort((one, other) => other.length - one.length);
  const shown = safeAddress(address);
  return (text) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text.replaceAll(address, shown));
}

/**
 * Imports a package from the operator's project, or else one installed beside this library, which can be in an npx
 * folder.
 *
 * @param path The package's entry, such as `./esm/api`.
 * @throws UsageError with the install command, if the package cannot be loaded.
 */
export async function importPackage<Module>(
  name: string,
  { folder, why, path = "." }: { readonly folder: string; readonly why: string; readonly path?: string },
): Promise<Module> {
  const address = findPackage(name, path, folder) ?? `${name}${path.slice(1)}`;
  try {
    const loading = importOptional<object>(address);
    return (await loading) as Module;
  } catch (error) {
    throw new UsageError(
      `${why} needs the package ${name}, which cannot be loaded. Install it: npm install ${name} (${reasonOf(error)})`,
    );
  }
}

/** The file that `import` loads in this folder. Node has no function for it: `require.resolve` gives another file. */
function findPackage(name: string, path: string, folder: string): string | undefined {
  const require = createRequire(join(folder, "package.json"));
  return safely(() => {
    const manifest = require.resolve(`${name}/package.json`);
    const file = importedFile(require(manifest).exports[path]);
    return file && pathToFileURL(join(dirname(manifest), file)).href;
  }, undefined);
}

function importedFile(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry;
  if (!isRecord(entry)) return undefined;
  const files = ["node", "import", "default"].map((condition) => importedFile(entry[condition]));
  return files.find((file) => file !== undefined);
}

/** A package's dependency, as the package itself requires it. Throws Node's error if it is missing. */
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
