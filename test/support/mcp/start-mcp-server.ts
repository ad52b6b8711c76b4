/** MCP servers of the official SDK, in processes of their own, and files that name them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const SERVER = fileURLToPath(new URL("./server.ts", import.meta.url));
// Absolute, because a server can be started in any folder.
const TSX = import.meta.resolve("tsx");

/** The entry of a server over stdio. */
export const stdioServer = (env: Record<string, string> = {}) => ({
  command: process.execPath,
  args: ["--import", TSX, SERVER, "stdio"],
  env,
});

export interface HttpServer {
  readonly url: string;
  readonly port: string;
  readonly kill: () => Promise<void>;
}

/** A server over HTTP, which is killed at the end of the test. */
export async function startHttpServer(port = "0", env: Record<string, string> = {}): Promise<HttpServer> {
  const child = spawn(process.execPath, ["--import", TSX, SERVER, "http", port], {
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
