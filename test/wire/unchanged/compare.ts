/** Where two requests differ. */

export interface Difference {
  /** The place in the body, with `[]` for each index: `messages[].content[].text`. */
  readonly path: string;
  /** What the client sends alone. Undefined: nothing. */
  readonly alone: unknown;
  /** What it sends with the library. */
  readonly ours: unknown;
}

/** The lists of messages of the protocols. If one of them has another length, its items are not compared. */
const LISTS = new Set(["messages", "input", "contents", "chat_history", "message", "system"]);

/** Whether a response is streamed does not change what the provider reads. */
const STREAMING = new Set(["stream", "stream_options", "incremental_output", "requestId"]);

export function differencesOf(alone: unknown, ours: unknown, path = ""): Difference[] {
  if (Object.is(alone, ours)) return [];
  if (Array.isArray(alone) && Array.isArray(ours)) {
    const isList = LISTS.has(path.split(".").at(-1) ?? "");
    const [one, other] = isList ? [outlineOf(alone), outlineOf(ours)] : [alone, ours];
    if (alone.length !== ours.length || (isList && one !== other))
      return [{ path: isList ? `${path}.roles` : path, alone: one, ours: other }];
    return alone.flatMap((item, index) => differencesOf(item, ours[index], `${path}[]`));
  }
  if (isFields(alone) && isFields(ours) && !(path.endsWith("[]") && kindOf(alone) !== kindOf(ours))) {
    const names = [...new Set([...Object.keys(alone), ...Object.keys(ours)])];
    return names
      .filter((name) => !STREAMING.has(name))
      .flatMap((name) => differencesOf(alone[name], ours[name], path === "" ? name : `${path}.${name}`));
  }
  return [{ path, alone, ours }];
}

/** What tells a block from one of another kind: its type, or the name of its only field at Google and Amazon. */
function kindOf(block: Readonly<Record<string, unknown>>): unknown {
  return block["type"] ?? (block["role"] === undefined ? Object.keys(block).sort().join("+") : "");
}

/** The role or type of each message, which shows where one was added, joined or left out. */
function outlineOf(messages: readonly unknown[]): string {
  return messages
    .map((message) => {
      if (!isFields(message)) return typeof message;
      return String(message["role"] ?? message["type"] ?? Object.keys(message).join("+"));
    })
    .join(" ");
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
