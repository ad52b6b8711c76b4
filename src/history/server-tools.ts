/**
 * Tools that the provider runs, such as web search. The call and its result are blocks in one model message, and a
 * provider refuses one without the other.
 */

import { asText, toJson } from "../shared/json.js";
import { isRecord, textIn } from "../shared/values.js";

/** In Anthropic's form, and in LangChain's `v1` form. */
const CALL_TYPES: ReadonlySet<unknown> = new Set(["server_tool_use", "mcp_tool_use", "server_tool_call"]);

/** The id of such a tool's call. Undefined for any other block. */
export function serverCallId(block: unknown): string | undefined {
  const { type, id } = blockFields(block);
  return CALL_TYPES.has(type) ? asText(id) : undefined;
}

/** The id of the call that such a tool's result answers. Undefined for any other block. */
export function serverResultId(block: unknown): string | undefined {
  const { type, tool_use_id, toolCallId } = blockFields(block);
  if (type === "server_tool_call_result") return asText(toolCallId);
  // A `tool_result` answers a caller's call, and is never in a model's message.
  const isResult = typeof type === "string" && type.endsWith("_tool_result");
  return isResult ? asText(tool_use_id) : undefined;
}

/** Such tools' calls among these blocks that have no result there. */
export function callsWithoutResult<Block>(content: readonly Block[]): readonly Block[] {
  const calls = content.filter((block) => serverCallId(block) !== undefined);
  if (calls.length === 0) return calls;
  const answered = new Set(content.map(serverResultId));
  return calls.filter((block) => !answered.has(serverCallId(block)));
}

/** Whether a message ends with such calls that the provider has not run yet. */
export function hasOpenServerCall({ content }: { readonly content: unknown }): boolean {
  return Array.isArray(content) && callsWithoutResult(content).length > 0;
}

/** The id of the call whose code made this call. */
export function callerIdOf(block: unknown): string | undefined {
  return textIn(blockFields(blockFields(block)["caller"]), "tool_id");
}

/** Contract: returns the text of a result with its call. Undefined for a block that is not a result. */
export type ServerResultText = (block: unknown) => string | undefined;

/** Blocks without an id that hold a tool's input or output under the name of their type. */
const PART_TYPES: ReadonlySet<unknown> = new Set(["executableCode", "codeExecutionResult"]);

/** @param content The blocks that contain the results' calls. */
export function serverResultTexts(content: readonly unknown[]): ServerResultText {
  let calls: ReadonlyMap<string | undefined, unknown> | undefined;
  return (block) => {
    const id = serverResultId(block);
    if (id === undefined) return partText(blockFields(block));
    // Made for the first result. Most messages have none. If several calls share an id, the first counts.
    calls ??= new Map(content.toReversed().map((other) => [serverCallId(other), other]));
    return resultText(blockFields(block), blockFields(calls.get(id)));
  };
}

type Fields = Readonly<Record<string, unknown>>;

function partText({ type, ...parts }: Fields): string | undefined {
  return PART_TYPES.has(type) ? `[${type}: ${toJson(parts[asText(type)])}]` : undefined;
}

function resultText({ type, content: returned, output = returned }: Fields, call: Fields): string {
  const { name = type, input = call["args"] } = call;
  return toolText(asText(name), input, output);
}

/** Fields of items in OpenAI's Responses API: a tool's input and output. */
const ITEM_FIELDS: Readonly<Record<string, readonly [input: string, output: string]>> = {
  mcp_call: ["arguments", "output"],
  code_interpreter_call: ["code", "outputs"],
  file_search_call: ["queries", "results"],
};

/** What the tools with these items returned. Empty for other items. */
export function serverItemsText(items: unknown): string {
  const texts = (Array.isArray(items) ? items : []).map((item) => {
    const { type, name = type, ...fields } = blockFields(item);
    const [input, output] = ITEM_FIELDS[asText(type)] ?? [];
    const returned = output === undefined ? undefined : fields[output];
    return returned === null || returned === undefined
      ? ""
      : toolText(asText(name), fields[input ?? ""], returned);
  });
  return texts.filter((text) => text !== "").join("\n");
}

function toolText(name: string, input: unknown, output: unknown): string {
  const given = valueText(input);
  const returned = valueText(output);
  if (given === "" && returned === "") return "";
  return `[${name}${given === "" ? "" : ` ${given}`}${returned === "" ? "" : ` returned: ${returned}`}]`;
}

/** Only the provider can read encrypted content, and a text is no place for a file. */
function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  const isEmpty = value === null || (typeof value === "object" && Object.keys(value).length === 0);
  return isEmpty ? "" : (toJson(value, withoutSecrets) ?? "");
}

function withoutSecrets(this: unknown, key: string, value: unknown): unknown {
  if (key.startsWith("encrypted_") || value === null) return undefined;
  return key === "data" && blockFields(this)["type"] === "base64" ? undefined : value;
}

/** LangChain's `v1` form wraps a block that it does not know. */
function blockFields(block: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(block)) return {};
  return block["type"] === "non_standard" && isRecord(block["value"]) ? block["value"] : block;
}
