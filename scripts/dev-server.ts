import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { Client } from "@langchain/langgraph-sdk";
import { copyConfig, prepareStateDirectory } from "./dev-server/state-directory.js";

/** Options of a development server. */
export interface DevServerOptions {
  /**
   * Path of the `langgraph.json` whose graphs are served.
   *
   * @default the one of this repository
   */
  config?: string;
  /**
   * Variables for the environment of the server. They override those of this process and of `config`.
   *
   * @default {}
   */
  env?: Record<string, string>;
  /**
   * Directory in which the server keeps threads and runs, under `.langgraph_api`. A server that is started in the
   * directory of an earlier one continues its threads. The directory is created if needed, and never removed. The
   * server writes its state three seconds after the last change and when it stops, so `kill()` can lose the latest
   * changes.
   *
   * @default a temporary directory, which is removed when the server ends
   */
  stateDirectory?: string;
  /**
   * How long to wait for the server to respond, in milliseconds. After that, starting fails with an error.
   *
   * @default 60_000
   */
  startTimeoutMs?: number;
  /**
   * Called with the output so far, as `output()` has it, whenever the server has printed something. Contract: must not
   * throw.
   *
   * @default nothing
   */
  onOutput?: (output: string) => void;
}

/** A running `langgraphjs dev`. */
export interface DevServer {
  /** The address of the server, without a trailing slash. */
  readonly url: string;
  /** A client of the server. It sends no API key. */
  readonly client: Client;
  /** The id of the server's first process. It is also the id of the process group of all its processes. */
  readonly processId: number;
  /** The last 100,000 characters of the server's output, without colours. */
  output(): string;
  /** Ends all processes of the server after it has written its state. Can be called again. */
  stop(): Promise<void>;
  /** Ends all processes of the server at once, as a crash of the machine would. */
  kill(): Promise<void>;
}

const OUTPUT_LIMIT = 100_000;

/**
 * The headers of a client of a development server, which give each request a connection of its own. Node's server closes a
 * connection that was idle for five seconds. On a busy machine a client hears of that too late, sends the next request on
 * it, and gets "fetch failed", which the SDK does not try again for a POST.
 */
export const OWN_CONNECTION = { connection: "close" };

/** Nothing leaves the machine: neither usage data of the command line tool nor traces. */
const OFFLINE = {
  LANGGRAPH_CLI_NO_ANALYTICS: "1",
  LANGSMITH_TRACING: "false",
  LANGSMITH_TRACING_V2: "false",
  LANGCHAIN_TRACING: "false",
  LANGCHAIN_TRACING_V2: "false",
};

/**
 * The first process of the server's group. It starts the command line tool, which starts a watcher, which starts the
 * server. Its standard input closes when `stop()` is called or when our process ends for any reason. Then it asks the
 * tool to end. After a grace period it kills the remaining processes of the group, including itself.
 *
 * Only the tool gets the signal. The watcher treats a second signal as impatience, and kills the server while it
 * writes its state.
 */
const GUARD = `
const { spawn } = require("node:child_process");
const { rmSync } = require("node:fs");
const [temporaryDirectory, ...command] = process.argv.slice(1);
const tool = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
const killGroup = () => {
  if (temporaryDirectory !== "") rmSync(temporaryDirectory, { recursive: true, force: true });
  process.kill(0, "SIGKILL");
};
const end = () => {
  tool.kill("SIGTERM");
  setTimeout(killGroup, 5000);
};
for (const name of ["stdout", "stderr"]) {
  process[name].on("error", () => {});
  tool[name].pipe(process[name]);
}
process.stdin.once("close", end).resume();
tool.once("exit", end);
tool.once("close", () => setImmediate(killGroup));
`;

/**
 * Starts `langgraphjs dev` on a free port of 127.0.0.1 and waits until it responds.
 *
 * No process of the server outlives `stop()` or the process that called this function. POSIX only, because it relies
 * on process groups. The server watches its loaded source files and restarts when one changes.
 *
 * @throws if the server ends, fails to load its graphs, or does not respond in time. The message includes its output.
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const { env = {}, startTimeoutMs = 60_000, onOutput = () => {} } = options;
  const repository = fileURLToPath(new URL("..", import.meta.url));
  const config = resolve(options.config ?? join(repository, "langgraph.json"));
  // `import.meta.resolve` is missing where vitest runs this file before all tests.
  const toolPackage = createRequire(import.meta.url).resolve("@langchain/langgraph-cli/package.json");
  const commandLineTool = join(dirname(toolPackage), "dist/cli/cli.mjs");
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const state = await prepareStateDirectory(options.stateDirectory);
  const servedConfig = await copyConfig(config, state.path);
  const toolArguments = [
    "dev",
    "--no-browser",
    "--host",
    "127.0.0.1",
    "--port",
    `${port}`,
    "--config",
    servedConfig,
  ];
  const guard = spawn(
    process.execPath,
    ["-e", GUARD, state.isTemporary ? state.path : "", commandLineTool, ...toolArguments],
    { cwd: dirname(config), detached: true, env: { ...process.env, ...OFFLINE, ...env } },
  );

  let printed = "";
  for (const stream of [guard.stdout, guard.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + stripVTControlCharacters(text)).slice(-OUTPUT_LIMIT);
      onOutput(printed);
    });
  }
  guard.stdin.on("error", () => {});
  let hasEnded = false;
  // All processes of the server keep the guard's output open, so "close" means that the last of them has ended.
  const ended = once(guard, "close").then(async () => {
    hasEnded = true;
    if (state.isTemporary) await rm(state.path, { recursive: true, force: true });
  });

  const stop = async (): Promise<void> => {
    guard.stdin.destroy();
    await ended;
  };
  const { pid: processId } = guard;
  if (processId === undefined) {
    await ended;
    throw new Error(`Expected to start \`${process.execPath}\`, but it cannot be run.`);
  }
  const kill = async (): Promise<void> => {
    if (!hasEnded) process.kill(-processId, "SIGKILL");
    await ended;
  };

  const failure = await waitForAnswer(url, startTimeoutMs, () => (hasEnded ? undefined : printed));
  if (failure !== undefined) {
    await kill();
    throw new Error(`The development server of ${config} ${failure}. It printed:\n${printed}`);
  }
  return {
    url,
    client: new Client({ apiUrl: url, apiKey: null, defaultHeaders: OWN_CONNECTION }),
    processId,
    output: () => printed,
    stop,
    kill,
  };
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  listener.close();
  if (address === null || typeof address === "string") throw new Error("Expected a TCP port.");
  return address.port;
}

/**
 * Waits until the server responds.
 *
 * @param readOutput Returns the server's output, or `undefined` when it has ended.
 * @returns why the server will not respond, or `undefined` when it has responded.
 */
async function waitForAnswer(
  url: string,
  timeoutMs: number,
  readOutput: () => string | undefined,
): Promise<string | undefined> {
  const deadline = Date.now() + timeoutMs;
  let failedBefore = false;
  while (Date.now() < deadline) {
    if (await isAnswering(url)) return undefined;
    // One more round after the sign of a failure, so that the complete error is printed.
    if (failedBefore) return "failed to start";
    const output = readOutput();
    if (output === undefined) return "ended before it responded";
    // The watcher survives a failed server and waits for a change.
    failedBefore = /^(error:|Node\.js v\d)/m.test(output);
    await delay(failedBefore ? 500 : 100);
  }
  return `did not respond within ${timeoutMs} ms`;
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/ok`, { signal: AbortSignal.timeout(2_000) });
    return response.ok;
  } catch {
    return false;
  }
}
