import { parseArgs } from "node:util";

export type ChatOptions =
  | { readonly kind: "help" }
  | {
      readonly kind: "chat";
      /** The URL of a running server. Undefined if the chat starts its own. */
      readonly url: string | undefined;
      /** The thread to continue. Undefined for a new thread. */
      readonly threadId: string | undefined;
    };

/** The options of the command cannot be used. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const USAGE = `Usage: npm run chat -- [--url URL [--thread ID]]

Chats with the graph "agent" in the terminal. Without --url it starts the development server of this
repository's langgraph.json, on a free port of 127.0.0.1, and stops it at the end.

  --url URL      the LangGraph server to talk to
  --thread ID    the thread to continue, on the server of --url
  -h, --help     show this help

Lines from a pipe are sent one after the other.`;

/** @throws UsageError that names an unknown, missing or useless option. */
export function readChatOptions(args: readonly string[]): ChatOptions {
  const { help, url, thread } = parse(args);
  if (help === true) return { kind: "help" };
  if (url !== undefined && !isHttpUrl(url)) {
    throw new UsageError(`Expected \`--url\` to be an http(s) URL, got \`${url}\`.`);
  }
  if (thread !== undefined && url === undefined) {
    throw new UsageError(
      "`--thread` needs `--url`: a server that the chat starts itself has no threads yet.",
    );
  }
  return { kind: "chat", url, threadId: thread };
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", short: "h" },
        url: { type: "string" },
        thread: { type: "string" },
      },
    });
    return values;
  } catch (error) {
    // Node's message continues with advice on positional arguments, which this command does not have.
    const [sentence = ""] = (error instanceof Error ? error.message : String(error)).split(/\.(?=\s|$)/u);
    throw new UsageError(`${sentence}.`);
  }
}
