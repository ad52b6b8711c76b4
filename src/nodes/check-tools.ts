import type { StructuredToolInterface } from "@langchain/core/tools";
import { InvalidToolError } from "../errors.js";

/** What every provider accepts. Source: OpenAI's and Gemini's error texts for tool names. */
const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
/** OpenAI's limit of tools in one request. */
const MOST_TOOLS = 128;

/** @throws InvalidToolError for something that is no tool, a name that no provider would accept, or a name used twice. */
export function checkTools(tools: readonly unknown[]): readonly StructuredToolInterface[] {
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (!isTool(tool)) {
      throw new InvalidToolError(
        "",
        `Expected \`tools[${index}]\` to be a LangChain tool with a name and \`invoke\`.`,
      );
    }
    if (!TOOL_NAME.test(tool.name)) {
      throw new InvalidToolError(
        tool.name,
        `No provider would accept the tool name \`${tool.name}\`. A name has 1 to 64 letters, digits, \`_\` and \`-\`, and begins with a letter or \`_\`.`,
      );
    }
    if (names.has(tool.name)) {
      throw new InvalidToolError(
        tool.name,
        `Two tools are named \`${tool.name}\`. A call could not tell them apart.`,
      );
    }
    names.add(tool.name);
  }
  if (names.size > MOST_TOOLS) {
    throw new InvalidToolError(
      "",
      `Expected at most ${MOST_TOOLS} tools, got ${names.size}: providers refuse more.`,
    );
  }
  return tools.filter(isTool);
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
