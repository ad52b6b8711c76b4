/** The Responses API. It remembers the items that it has stored. */

import {
  type Fields,
  firstRepeated,
  listIn,
  listOf,
  NAME,
  type Refusal,
  type RequestCheck,
  textOf,
} from "./refusal.js";

/** The caller answers each call with an id for its output, which is of the call's own kind. */
const isCall = ({ type, call_id }: Fields): boolean =>
  textOf(type).endsWith("_call") && textOf(call_id) !== "";

/** The items of `dialect-arbitraries.ts` that OpenAI's models made. */
const STORED = new Set(["rs_1", "fc_1", "msg_2", "ctc_1"]);

export const checkResponses: RequestCheck = (body, stored) => {
  const items = listIn(body, "input");
  const calls = items.filter(isCall).map(({ call_id }) => textOf(call_id));
  const outputs: string[] = [];
  const open = [...calls];
  for (const [index, item] of items.entries()) {
    const fault = checkItem(item, index, items[index + 1], stored);
    if (fault !== undefined) return refuse(fault);
    const kind = /^(.*_call)_output$/.exec(textOf(item["type"]))?.[1];
    if (kind === undefined) continue;
    const id = textOf(item["call_id"]);
    const before = items.slice(0, index).filter((one) => one["type"] === kind && one["call_id"] === id);
    if (before.length <= outputs.filter((output) => output === id).length)
      return refuse(`No tool call found for ${kind.replaceAll("_", " ")} output with call_id ${id}.`);
    outputs.push(id);
    open.splice(open.indexOf(id), 1);
  }
  if (open.length > 0) return refuse(`No tool output found for function call ${open[0]}.`);
  const ids = items.map(({ id }) => textOf(id)).filter((id) => id !== "");
  const repeated = firstRepeated(ids);
  if (repeated !== undefined)
    return refuse(
      `Duplicate item found with id ${repeated}. Remove duplicate items from your input and try again.`,
    );
  return items.length === 0 ? refuse("Invalid 'input': empty array.") : undefined;
};

function checkItem(
  item: Fields,
  index: number,
  next: Fields | undefined,
  stored: ReadonlySet<string>,
): string | undefined {
  const id = textOf(item["id"]);
  if (item["role"] === "tool")
    return "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.";
  if (item["type"] === "function_call" && id !== "" && !id.startsWith("fc"))
    return `Invalid 'input[${index}].id': '${id}'. Expected an ID that begins with 'fc'.`;
  if (textOf(item["call_id"]).length > 64)
    return `Invalid 'input[${index}].call_id': string too long. Expected a string with maximum length 64.`;
  if ("call_id" in item && textOf(item["call_id"]) === "")
    return `Invalid 'input[${index}].call_id': empty string.`;
  if (id !== "" && !STORED.has(id) && !stored.has(id)) return `Item with id '${id}' not found.`;
  if (item["type"] === "function_call" && !NAME.test(textOf(item["name"])))
    return `Invalid 'input[${index}].name': string does not match pattern.`;
  if (!isOutput(item)) return `Invalid 'input[${index}].output'.`;
  const parts = item["role"] === "user" ? listOf(item["content"]) : [];
  const foreign = parts.find((part) => !isPart(part));
  if (foreign !== undefined) return `Invalid value: '${textOf(foreign["type"])}'.`;
  if (item["role"] === "user" && Array.isArray(item["content"]) && parts.length === 0)
    return `Invalid 'input[${index}].content': empty array.`;
  const isFollowed = textOf(next?.["type"]).endsWith("_call") || next?.["role"] === "assistant";
  if (item["type"] === "reasoning" && !isFollowed)
    return `Item '${id}' of type 'reasoning' was provided without its required following item.`;
  return undefined;
}

/** Whether the output of a call has the form of its kind. */
function isOutput({ type, output, status }: Fields): boolean {
  switch (type) {
    case "computer_call_output": {
      const { type: kind, image_url: url } = listOf([output])[0] ?? {};
      return (
        (kind === "computer_screenshot" || kind === "input_image") && /^(data:image|https:)/.test(textOf(url))
      );
    }
    case "shell_call_output":
      return listOf(output).every(
        (part) => textOf(part["stderr"]) + textOf(part["stdout"]) !== "" && "outcome" in part,
      );
    case "apply_patch_call_output":
      return (status === "completed" || status === "failed") && typeof output === "string";
    default:
      return Array.isArray(output)
        ? output.every((part: unknown) => isPart(part))
        : output === undefined || typeof output === "string";
  }
}

function isPart(part: unknown): boolean {
  const type: unknown = Reflect.get(Object(part), "type");
  return type === "input_text" || type === "input_image" || type === "input_file";
}

function refuse(message: string): Refusal {
  return {
    status: 400,
    body: { error: { message, type: "invalid_request_error", param: "input", code: null } },
  };
}
