import { mkdir, mkdtemp, readFile, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

/** The directory in which a server keeps its state, which is a temporary one if none is wanted. */
export async function prepareStateDirectory(
  wanted: string | undefined,
): Promise<{ path: string; isTemporary: boolean }> {
  if (wanted === undefined) {
    const path = await mkdtemp(join(tmpdir(), "langgraph-dev-"));
    return { path: await realpath(path), isTemporary: true };
  }
  await mkdir(wanted, { recursive: true });
  return { path: await realpath(wanted), isTemporary: false };
}

/**
 * The server keeps its state beside its `langgraph.json`. So a copy of that file decides where the state is. All
 * paths in the copy point to the original's directory. They stay relative, because the server joins them to its own
 * directory.
 */
export async function copyConfig(config: string, directory: string): Promise<string> {
  const original = await realpath(dirname(config));
  const redirect = (value: unknown): unknown => {
    if (typeof value === "string" && /^\.{1,2}\//.test(value)) {
      return relative(directory, join(original, value));
    }
    if (Array.isArray(value)) return value.map(redirect);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redirect(entry)]));
  };
  const { env, ...rest } = JSON.parse(await readFile(config, "utf8"));
  const servedEnv = typeof env === "string" ? relative(directory, join(original, env)) : env;
  const copy = join(directory, "langgraph.json");
  await writeFile(copy, JSON.stringify({ ...(redirect(rest) as object), env: servedEnv }, undefined, 2));
  return copy;
}
