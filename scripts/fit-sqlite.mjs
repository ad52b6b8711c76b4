/**
 * `npm ci` runs it, as the script `prepare`. On Node 20, it replaces better-sqlite3 13, which needs Node 22, by version 12.
 * Newer versions of Node get 13: where 12 was compiled for Node 24.19 or newer, it ends the process now and then.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOR_NODE_20 = "better-sqlite3@12.11.1";

const installed = fileURLToPath(new URL("../node_modules/better-sqlite3", import.meta.url));

function isForOtherNode() {
  if (!process.version.startsWith("v20.") || !existsSync(installed)) return false;
  const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  return !version.startsWith("12.");
}

if (isForOtherNode()) {
  const folder = mkdtempSync(join(tmpdir(), "tether-sqlite-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    const args = ["install", "--install-strategy=nested", "--no-package-lock", FOR_NODE_20];
    // On Windows, npm is a batch file.
    execFileSync("npm", args, { cwd: folder, stdio: "inherit", shell: process.platform === "win32" });
    rmSync(installed, { recursive: true });
    cpSync(join(folder, "node_modules/better-sqlite3"), installed, { recursive: true });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
