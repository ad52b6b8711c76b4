/** Anthropic's Messages API. Adjacent messages of one role count as one message, as in the API since 2026. */

import {
  type Fields,
  firstRepeated,
  isFields,
  listIn,
  listOf,
  merged,
  NAME,
  type Refusal,
  type RequestCheck,
  textOf,
} from "./refusal.js";

/** The signature of Anthropic's models in `dialect-arbitraries.ts`. */
const OWN_SIGNATURE = "c2lnbmVk";

/** The blocks that the API takes. */
const TAGS: ReadonlySet<unknown> = new Set([
  ...["text", "image", "document", "search_result", "container_upload"],
  ...["thinking", "redacted_thinking", "compaction"],
  ...["tool_use", "tool_result", "server_tool_use", "mcp_tool_use", "mcp_tool_result"],
  ...["web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result", "tool_search_tool_result"],
  ...["code_execution_tool_result", "bash_code_execution_tool_result"],
  "text_editor_code_execution_tool_result",
]);

interface Turn {
  readonly role: string;
  readonly blocks: readonly Fields[];
}

export const checkAnthropic: RequestCheck = (body) => {
  const raw = listIn(body, "messages");
  if (raw.length === 0) return refuse("messages: at least one message is required");
  const foreign = raw.find(({ role }) => role !== "user" && role !== "assistant");
  if (foreign !== undefined) return refuse(`messages: Unexpected role "${textOf(foreign["role"])}".`);
  for (const [index, message] of raw.entries()) {
    const fault = checkMessage(toTurn(message), index);
    if (fault !== undefined) return refuse(fault);
  }
  const turns = merged(raw.map(toTurn), (one, next) =>
    one.role === next.role ? { ...one, blocks: [...one.blocks, ...next.blocks] } : undefined,
  );
  for (const [index, turn] of turns.entries()) {
    const fault =
      checkPair(turn, turns[index + 1], index) ??
      checkOrphans(turns[index - 1], turn, index) ??
      checkServerTools(turns, index);
    if (fault !== undefined) return refuse(fault);
  }
  const idsOf = ({ blocks }: Turn) => blocks.filter(isType("tool_use")).map(({ id }) => textOf(id));
  if (turns.some((turn) => firstRepeated(idsOf(turn)) !== undefined))
    return refuse("messages.1.content.1: `tool_use` ids must be unique");
  if (turns.at(-1)?.role === "assistant")
    return refuse(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  return undefined;
};

function checkMessage({ role, blocks }: Turn, index: number): string | undefined {
  if (blocks.length === 0)
    return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
  for (const [place, block] of blocks.entries()) {
    const at = `messages.${index}.content.${place}`;
    if (!TAGS.has(block["type"]))
      return `${at}: Input tag '${textOf(block["type"])}' found using 'type' does not match any of the expected tags`;
    if (block["type"] === "text" && textOf(block["text"]) === "")
      return "messages: text content blocks must be non-empty";
    if (block["type"] === "text" && textOf(block["text"]).trim() === "")
      return "messages: text content blocks must contain non-whitespace text";
    if (block["type"] === "tool_use") {
      if (role !== "assistant") return "`tool_use` blocks can only be in `assistant` messages";
      if (!/^[a-zA-Z0-9_-]+$/.test(textOf(block["id"])))
        return `${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
      if (!NAME.test(textOf(block["name"])))
        return `${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`;
      if (!isFields(block["input"])) return `${at}.tool_use.input: Input should be a valid dictionary`;
    }
    if ((block["type"] === "image" || block["type"] === "document") && !isSource(block["source"]))
      return `${at}.${block["type"]}.source: Input should be a valid source`;
    if (block["type"] === "tool_result" && isBlank(block["content"]))
      return `${at}.tool_result: content cannot be empty if \`is_error\` is true`;
    if (block["type"] === "thinking" && block["signature"] !== OWN_SIGNATURE)
      return `${at}: Invalid \`signature\` in \`thinking\` block`;
  }
  return undefined;
}

function checkPair({ role, blocks }: Turn, next: Turn | undefined, index: number): string | undefined {
  const calls = role === "assistant" ? blocks.filter(isType("tool_use")).map(({ id }) => textOf(id)) : [];
  if (calls.length === 0) return undefined;
  const missing = (ids: readonly string[]) =>
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  const lastText = blocks.findLastIndex(isType("text"));
  if (lastText > blocks.findIndex(isType("tool_use"))) return missing(calls);
  const following = next?.blocks ?? [];
  const end = following.findIndex((block) => !isType("tool_result")(block));
  const leading = (end < 0 ? following : following.slice(0, end)).map((block) =>
    textOf(block["tool_use_id"]),
  );
  const open = calls.filter((id) => !leading.includes(id));
  if (open.length > 0) return missing(open);
  if (leading.length > calls.length)
    return `messages.${index + 1}: Too many \`tool_result\` blocks found: ${leading.length}, expected ${calls.length}.`;
  return undefined;
}

function checkOrphans(before: Turn | undefined, { blocks }: Turn, index: number): string | undefined {
  const known = (before?.blocks ?? []).filter(isType("tool_use")).map(({ id }) => id);
  const place = blocks.findIndex(
    (block) => isType("tool_result")(block) && !known.includes(block["tool_use_id"]),
  );
  if (place < 0) return undefined;
  return `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${textOf(blocks[place]?.["tool_use_id"])}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
}

/**
 * A call of a tool that Anthropic runs stands before its result, in the same turn. If the turn has calls of the caller too,
 * the result is in the response to their results, and until then nothing but these follows.
 */
function checkServerTools(turns: readonly Turn[], index: number): string | undefined {
  const blocks = turns[index]?.blocks ?? [];
  const isOpen = blocks.some(isType("tool_use")) && turns[index + 1]?.blocks.every(isType("tool_result"));
  const before = turns[index - 1]?.blocks.every(isType("tool_result")) ? turns[index - 2]?.blocks : undefined;
  const after = isOpen ? turns[index + 2] : undefined;
  const mayWait = isOpen === true && after === undefined;
  const isCall = ({ type }: Fields) => type === "server_tool_use" || type === "mcp_tool_use";
  const isResult = ({ type }: Fields) => type !== "tool_result" && textOf(type).endsWith("_tool_result");
  for (const [place, block] of blocks.entries()) {
    const caller = isFields(block["caller"]) ? block["caller"]["tool_id"] : undefined;
    if (caller !== undefined && !blocks.slice(0, place).some(({ id }) => id === caller))
      return `messages.${index}.content.${place}: the caller ${textOf(caller)} was not found`;
    const answers = (id: unknown) => (other: Fields) => isResult(other) && other["tool_use_id"] === id;
    const following = [...blocks.slice(place), ...(after?.blocks ?? [])];
    if (isCall(block) && !mayWait && !following.some(answers(block["id"]))) {
      const name = block["type"] === "mcp_tool_use" ? "mcp" : textOf(block["name"]);
      return `messages.${index}: \`${name}\` tool use with id \`${textOf(block["id"])}\` was found without a corresponding \`${name}_tool_result\` block`;
    }
    if (
      isResult(block) &&
      ![...(before ?? []), ...blocks.slice(0, place)].some(
        (other) => isCall(other) && answers(other["id"])(block),
      )
    )
      return `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`${textOf(block["type"])}\` blocks: ${textOf(block["tool_use_id"])}. Each \`${textOf(block["type"])}\` block must have a corresponding \`server_tool_use\` block before it.`;
  }
  return undefined;
}

function isSource(source: unknown): boolean {
  if (!isFields(source)) return false;
  const { type, media_type, data, url, file_id } = source;
  if (type === "base64" || type === "text") return textOf(media_type).includes("/") && textOf(data) !== "";
  return (type === "url" && textOf(url) !== "") || (type === "file" && textOf(file_id) !== "");
}

function isType(type: string): (block: Fields) => boolean {
  return (block) => block["type"] === type;
}

function isBlank(content: unknown): boolean {
  return typeof content === "string" ? content.trim() === "" : listOf(content).length === 0;
}

function toTurn({ role, content }: Fields): Turn {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  return { role: textOf(role), blocks };
}

function refuse(message: string): Refusal {
  return { status: 400, body: { type: "error", error: { type: "invalid_request_error", message } } };
}
