/** Processes that each run one turn of an agent. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Entry, Job } from "./job.js";

const CHILD = fileURLToPath(new URL("crash-child.ts", import.meta.url));
/** Inside the repository, so that the child finds its packages. */
const BUNDLES = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));

/** Loading takes longer than a turn, so the next process loads while one works. */
export class Children {
  readonly #bundle: string;
  #next: Promise<ChildProcess>;

  constructor(bundle: string) {
    this.#bundle = bundle;
    this.#next = startChild(bundle);
  }

  async run(job: Job, killAfterMs: number | undefined): Promise<void> {
    const child = await this.#next;
    this.#next = startChild(this.#bundle);
    const exited = once(child, "exit");
    const started = once(child, "message");
    child.send(job);
    if (killAfterMs !== undefined) {
      await Promise.race([started, exited]);
      await Promise.race([delay(killAfterMs), exited]);
      child.kill("SIGKILL");
    }
    await exited;
  }

  async close(): Promise<void> {
    (await this.#next).kill("SIGKILL");
  }
}

/** Packages that load binary files, or that are not there. */
const EXTERNAL = ["better-sqlite3", "pg-native"];
/** Packages in CommonJS need it. */
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** A process that compiles its own sources, or reads all files of its packages, takes several times as long to start. */
async function bundleChild(folder: string): Promise<string> {
  const outfile = join(folder, "crash-child.mjs");
  const options = { bundle: true, format: "esm", platform: "node", logLevel: "error" } as const;
  await build({ ...options, external: EXTERNAL, banner: { js: BANNER }, entryPoints: [CHILD], outfile });
  return outfile;
}

async function startChild(bundle: string): Promise<ChildProcess> {
  // Without the loader of the parent, which would compile the bundle again.
  const child = fork(bundle, { execArgv: [] });
  await once(child, "message");
  return child;
}

/**
 * Calls a function with a folder for ledgers and with rows of processes, which work at the same time, and removes all
 * of them.
 */
export async function withChildren<Result>(
  rows: number,
  use: (folder: string, children: [Children, ...Children[]]) => Promise<Result>,
): Promise<Result> {
  mkdirSync(BUNDLES, { recursive: true });
  const folder = mkdtempSync(join(BUNDLES, "tether-crash-"));
  const bundle = await bundleChild(folder);
  const children: [Children, ...Children[]] = [
    new Children(bundle),
    ...Array.from({ length: rows - 1 }, () => new Children(bundle)),
  ];
  try {
    return await use(folder, children);
  } finally {
    await Promise.all(children.map((each) => each.close()));
    rmSync(folder, { recursive: true });
  }
}

export function readLedger(file: string): Entry[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
