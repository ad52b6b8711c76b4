/** MCP servers of the official SDK, in processes of their own, and files that name them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { onTestFinished } from "vitest";

/** The program of a server as one file, which starts in a quarter of the time of the module with its packages. */
const PROGRAM = join(mkdtempSync(join(tmpdir(), "tether-mcp-")), "server.mjs");
process.once("exit", () => rmSync(dirname(PROGRAM), { recursive: true, force: true }));
buildSync({
  entryPoints: [fileURLToPath(new URL("./server.ts", import.meta.url))],
  outfile: PROGRAM,
  bundle: true,
  platform: "node",
  format: "esm",
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});

/** The entry of a server over stdio. */
export const stdioServer = (env: Record<string, string> = {}) => ({
  command: process.execPath,
  args: [PROGRAM, "stdio"],
  env,
});

export interface HttpServer {
  readonly url: string;
  readonly port: string;
  readonly kill: () => Promise<void>;
}

/** A server over HTTP, which is killed at the end of the test. */
export async function startHttpServer(port = "0", env: Record<string, string> = {}): Promise<HttpServer> {
  const child = spawn(process.execPath, [PROGRAM, "http", port], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = async () => killed(child);
  onTestFinished(kill);
  const [printed] = await once(child.stdout, "data");
  const url = String(printed).trim();
  return { url, port: new URL(url).port, kill };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** A folder for one test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tether-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The file of servers. */
export function mcpFile(content: unknown): string {
  const file = join(testFolder(), "mcp.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}
