import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { InvalidToolError } from "../errors.js";
import { isRecord } from "../shared/is-record.js";
import { hintAtClass } from "./hint-at-class.js";

/** A tool name that every provider accepts, according to the error messages of OpenAI and Gemini. */
const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
/** The most tools that OpenAI accepts in one request. */
const MOST_TOOLS = 128;

export interface Tools {
  /** The model can call them, and the graph runs their calls. */
  readonly tools: readonly StructuredToolInterface[];
  /** The model can call them, and the caller of the run executes their calls. */
  readonly additionalTools: readonly BindToolsInput[];
}

/**
 * Checks the tools of a graph.
 *
 * @throws InvalidToolError for a value that is not a tool, a name that a provider would refuse, a name used twice, or
 * more than 128 tools.
 */
export function checkTools(tools: readonly unknown[], additionalTools: readonly unknown[]): Tools {
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (!isTool(tool)) {
      throw new InvalidToolError(
        "",
        `Expected \`tools[${index}]\` to be a LangChain tool with a name and \`invoke\`.${hintAtClass(tool)}`,
      );
    }
    addName(tool.name, names);
  }
  for (const [index, tool] of additionalTools.entries()) {
    if (!isRecord(tool) || toolName(tool) === "") {
      throw new InvalidToolError(
        "",
        `Expected \`additionalTools[${index}]\` to be a LangChain tool, or a definition in OpenAI's form.`,
      );
    }
    addName(toolName(tool), names);
  }
  if (names.size > MOST_TOOLS) {
    throw new InvalidToolError(
      "",
      `Expected at most ${MOST_TOOLS} tools, got ${names.size}: providers refuse more.`,
    );
  }
  return {
    tools: tools.filter(isTool),
    additionalTools: additionalTools.filter(isRecord) as BindToolsInput[],
  };
}

function addName(name: string, names: Set<string>): void {
  if (!TOOL_NAME.test(name)) {
    throw new InvalidToolError(
      name,
      `Not every provider accepts the tool name \`${name}\`. A name has 1 to 64 letters, digits, \`_\` and \`-\`, and begins with a letter or \`_\`.`,
    );
  }
  if (names.has(name)) {
    throw new InvalidToolError(
      name,
      `Two tools are named \`${name}\`. The name of a tool call must identify one tool.`,
    );
  }
  names.add(name);
}

/** The name of a tool, or of a definition in OpenAI's form; `""` if it is missing. */
export function toolName(tool: object): string {
  const definition: unknown = Reflect.get(tool, "function");
  const name: unknown = Reflect.get(isRecord(definition) ? definition : tool, "name");
  return typeof name === "string" ? name : "";
}

/** Whether the result of the tool is meant for the user, and not for the model. */
export function returnsDirectly(tool: object): boolean {
  return Reflect.get(tool, "returnDirect") === true;
}

function isTool(value: unknown): value is StructuredToolInterface {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "invoke" in value &&
    typeof value.invoke === "function"
  );
}
