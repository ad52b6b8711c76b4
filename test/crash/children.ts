/** Processes that each run one turn of an agent. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, parse } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Entry, Job } from "./job.js";

const CHILD = fileURLToPath(new URL("crash-child.ts", import.meta.url));
/** Inside the repository, so that the child finds its packages. */
const BUNDLES = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));

export interface AgentSource {
  /** The file of a module with the export `adapter`, whose `makeGraph` makes the agent. */
  readonly module: string;
  readonly packages: string;
}

export interface Bundle {
  readonly file: string;
  readonly agent?: Pick<Job, "agent">;
}

const OPTIONS = {
  bundle: true,
  format: "esm",
  platform: "node",
  logLevel: "error",
  outExtension: { ".js": ".mjs" },
} as const;

/** Loading takes longer than a turn, so the next process loads while one works. */
export class Children {
  readonly #bundle: Bundle;
  #next: Promise<ChildProcess>;

  constructor(bundle: Bundle) {
    this.#bundle = bundle;
    this.#next = startChild(bundle);
  }

  /** Returns the last message of the process. */
  async run(job: object, killAfterMs: number | undefined): Promise<unknown> {
    const child = await this.#next;
    this.#next = startChild(this.#bundle);
    let last: unknown;
    child.on("message", (message) => {
      last = message;
    });
    const exited = once(child, "exit");
    const started = once(child, "message");
    child.send({ ...job, ...this.#bundle.agent });
    if (killAfterMs !== undefined) {
      await Promise.race([started, exited]);
      await Promise.race([delay(killAfterMs), exited]);
      child.kill("SIGKILL");
    }
    await exited;
    return last;
  }

  async close(): Promise<void> {
    (await this.#next).kill("SIGKILL");
  }
}

/** Packages that load binary files, or that are not there. */
const EXTERNAL = ["better-sqlite3", "pg-native"];
/** Packages in CommonJS need it. */
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** For bundles and what their processes write. The caller removes it. */
export function makeFolder(): string {
  mkdirSync(BUNDLES, { recursive: true });
  return mkdtempSync(join(BUNDLES, "tether-crash-"));
}

/** A process that compiles its own sources, or reads all files of its packages, takes several times as long to start. */
export async function bundleProgram(outdir: string, entry: string): Promise<Bundle> {
  await build({ ...OPTIONS, outdir, external: EXTERNAL, banner: { js: BANNER }, entryPoints: [entry] });
  return { file: join(outdir, `${parse(entry).name}.mjs`) };
}

/** The child and the agent share the packages of the agent. */
async function bundleBoth(outdir: string, { module: agent, packages }: AgentSource): Promise<Bundle> {
  await build({
    ...OPTIONS,
    outdir,
    external: EXTERNAL,
    banner: { js: BANNER },
    entryPoints: { "crash-child": CHILD, agent },
    splitting: true,
    plugins: [packagesOf(packages)],
  });
  return { file: join(outdir, "crash-child.mjs"), agent: { agent: join(outdir, "agent.mjs") } };
}

/** Takes packages from this folder, also for files outside of it. */
function packagesOf(resolveDir: string): Plugin {
  return {
    name: "packages-of",
    setup: ({ onResolve, resolve }) => {
      onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, pluginData }) => {
        if (pluginData === resolveDir || importer.includes("/node_modules/")) return undefined;
        const found = await resolve(path, { kind, resolveDir, pluginData: resolveDir });
        return found.errors.length > 0 ? undefined : found;
      });
    },
  };
}

export async function startChild({ file }: Bundle): Promise<ChildProcess> {
  // Without the loader of the parent, which would compile the bundle again.
  const child = fork(file, { execArgv: [] });
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`Expected the process to load its program, but it ended with ${code}.`);
  });
  await Promise.race([once(child, "message"), exited]);
  // The process ends at some time.
  exited.catch(() => {});
  return child;
}

/**
 * Calls a function with a folder for ledgers and with rows of processes, which work at the same time, and removes all
 * of them.
 */
export async function withChildren<Result>(
  rows: number,
  use: (folder: string, children: [Children, ...Children[]]) => Promise<Result>,
  agent?: AgentSource,
): Promise<Result> {
  const folder = makeFolder();
  const bundle = await (agent === undefined ? bundleProgram(folder, CHILD) : bundleBoth(folder, agent));
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
