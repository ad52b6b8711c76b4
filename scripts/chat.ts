/** A chat with the served graph in the terminal: `npm run chat`. */

import { Client } from "@langchain/langgraph-sdk";
import type { LineReader } from "./chat/line-reader.js";
import { type ChatOptions, readChatOptions, USAGE, UsageError } from "./chat/options.js";
import { createPipeReader } from "./chat/pipe-reader.js";
import { ChatSession } from "./chat/session.js";
import { TerminalReader } from "./chat/terminal-reader.js";
import { startDevServer } from "./dev-server.js";
import { findSettingError } from "./terminal/find-setting-error.js";
import { Screen } from "./terminal/screen.js";
import { createStyle, readWidth } from "./terminal/style.js";

interface Place {
  readonly url: string;
  readonly client: Client;
  stop(): Promise<void>;
}

const { stdin, stdout } = process;
const style = createStyle(stdout);
/** A user at a terminal gets a greeting and a prompt. A pipe does not. */
const isAtTerminal = stdin.isTTY === true && stdout.isTTY === true;

async function findPlace(url: string | undefined): Promise<Place> {
  if (url === undefined) return startDevServer();
  // Checked first, because the client would retry for a while.
  const isThere = await fetch(`${url.replace(/\/$/, "")}/ok`, { signal: AbortSignal.timeout(5000) }).then(
    (response) => response.ok,
    () => false,
  );
  if (!isThere) throw new Error(`No LangGraph server responds at ${url}.`);
  return { url, client: new Client({ apiUrl: url }), stop: async () => {} };
}

function createReader(onInterrupt: () => void): LineReader {
  if (!isAtTerminal) return createPipeReader(stdin);
  const [prompt, continuation] = [style("bold", "you ▸ "), style("dim", "    · ")];
  return new TerminalReader({ input: stdin, output: stdout, prompt, continuation, onInterrupt });
}

interface Conversation {
  readonly reader: LineReader;
  readonly screen: Screen;
  /** Sets the action of Ctrl-C. */
  readonly onInterrupt: (action: () => void) => void;
}

async function chat(options: ChatOptions & { kind: "chat" }): Promise<void> {
  // While there is nothing to cancel, Ctrl-C ends the process and the server.
  let interrupt = (): void => process.exit(130);
  process.on("SIGINT", () => interrupt());
  process.on("SIGTERM", () => process.exit(143));
  const reader = createReader(() => interrupt());
  process.on("exit", () => reader.close());
  const screen = new Screen({ stream: stdout, style, readDraft: () => reader.readDraft() });
  const onInterrupt = (action: () => void) => {
    interrupt = action;
  };
  try {
    if (isAtTerminal && options.url === undefined) screen.write(style("dim", "Starting the server…\n"));
    const place = await screen.whileWaiting(() => findPlace(options.url));
    try {
      await converse(place, options.threadId, { reader, screen, onInterrupt });
    } finally {
      if (isAtTerminal) stdout.write("\n");
      await place.stop();
    }
  } finally {
    reader.close();
    // An open pipe would keep this process alive.
    stdin.destroy();
  }
}

/** Handles messages until the user has no more. */
async function converse(
  { client, url }: Place,
  threadId: string | undefined,
  { reader, screen, onInterrupt }: Conversation,
): Promise<void> {
  const options = {
    client,
    style,
    write: screen.write,
    readWidth: () => readWidth(stdout),
    tellsUsage: isAtTerminal,
  };
  const session = await ChatSession.open(options, threadId);
  if (isAtTerminal) {
    screen.write(`${style("dim", `Thread ${session.threadId} at ${url}\n/help shows the commands.`)}\n`);
  }
  let isEnding = false;
  onInterrupt(() => {
    if (session.interrupt() || reader.discardDraft()) return;
    isEnding = true;
    reader.close();
  });
  for (let isOpen = true; isOpen; ) {
    const message = await reader.next();
    if (message === undefined || isEnding) return;
    isOpen = (await screen.whileWaiting(() => session.take(message))) && !isEnding;
  }
}

try {
  const options = readChatOptions(process.argv.slice(2));
  if (options.kind === "help") stdout.write(`${USAGE}\n`);
  else await chat(options);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const line = findSettingError(message) ?? message;
  process.stderr.write(error instanceof UsageError ? `${line}\n\n${USAGE}\n` : `${line}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
