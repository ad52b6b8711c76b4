/** A chat in the terminal with the served graph: `npm run chat`. */

import { createInterface } from "node:readline/promises";
import { Client } from "@langchain/langgraph-sdk";
import { type ChatOptions, readChatOptions, USAGE, UsageError } from "./chat/options.js";
import { ChatSession } from "./chat/session.js";
import { startDevServer } from "./dev-server.js";
import { createStyle } from "./terminal/style.js";

interface Place {
  readonly url: string;
  readonly client: Client;
  stop(): Promise<void>;
}

const style = createStyle(process.stdout);
/** A user at a terminal is greeted and prompted; a pipe is not. */
const isAtTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;

async function findPlace(url: string | undefined): Promise<Place> {
  if (url === undefined) return startDevServer();
  // The client would try again for a while.
  const isThere = await fetch(`${url.replace(/\/$/, "")}/ok`, { signal: AbortSignal.timeout(5000) }).then(
    (response) => response.ok,
    () => false,
  );
  if (!isThere) throw new Error(`No LangGraph server answers at ${url}.`);
  return { url, client: new Client({ apiUrl: url }), stop: async () => {} };
}

async function chat({ url, threadId }: ChatOptions & { kind: "chat" }): Promise<void> {
  // Until there is something to cancel, Ctrl-C ends the process, and the server ends with it.
  let interrupt = (): void => process.exit(130);
  process.on("SIGINT", () => interrupt());
  process.on("SIGTERM", () => process.exit(143));
  if (isAtTerminal && url === undefined) process.stdout.write(style("dim", "Starting the server…\n"));

  const place = await findPlace(url);
  try {
    const session = await ChatSession.open({ client: place.client, style, output: process.stdout }, threadId);
    if (isAtTerminal) {
      const where = `Thread ${session.threadId} at ${place.url}`;
      process.stdout.write(`${style("dim", `${where}\n/help shows the commands.`)}\n`);
    }
    const lines = createInterface({
      input: process.stdin,
      ...(isAtTerminal && { output: process.stdout, prompt: style("bold", "you ▸ ") }),
    });
    let isEnding = false;
    interrupt = () => {
      if (session.interrupt()) return;
      isEnding = true;
      lines.close();
    };
    // At a terminal, the key reaches the reader of lines only.
    lines.on("SIGINT", () => interrupt());
    if (isAtTerminal) lines.prompt();
    for await (const line of lines) {
      if (isEnding || !(await session.take(line))) break;
      if (isAtTerminal) lines.prompt();
    }
    lines.close();
  } finally {
    if (isAtTerminal) process.stdout.write("\n");
    await place.stop();
    // A pipe that is still open would keep this process.
    process.stdin.destroy();
  }
}

try {
  const options = readChatOptions(process.argv.slice(2));
  if (options.kind === "help") process.stdout.write(`${USAGE}\n`);
  else await chat(options);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(error instanceof UsageError ? `${message}\n\n${USAGE}\n` : `${message}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
