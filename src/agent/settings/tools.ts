/** Checks a graph's tools, and the choice among them. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { z } from "zod/v4";
import { InvalidSettingError, InvalidToolError } from "../../errors.js";
import { isProviderTool } from "../../providers/models/tools.js";
import { DIALECTS } from "../../providers/table/dialects.js";
import { hintAtClass, hintAtName, type Rule } from "../../shared/check-settings.js";
import { isRecord } from "../../shared/values.js";

/** A tool name that every provider accepts. */
const TOOL_NAME = DIALECTS.strict.toolName;

/**
 * Checks a graph's tools.
 *
 * @param formatTools The tools of its response format.
 * @throws InvalidToolError for a value that is not a tool, a tool without a schema, a name that a provider would
 * refuse, a name used twice, or an unknown `replay` in a tool's metadata.
 */
export function checkTools(
  { tools, additionalTools }: Readonly<Record<"tools" | "additionalTools", readonly unknown[]>>,
  formatTools: readonly BindToolsInput[],
) {
  for (const [index, tool] of tools.entries()) {
    if (isTool(tool)) {
      assertSchema(`tools[${index}]`, tool);
      assertReplay(tool);
    } else if (!isProviderTool(tool))
      throw notATool(
        `tools[${index}]`,
        "a LangChain tool with a name and `invoke`, or a tool of a provider",
        `${hintAtClass(tool)}${hintAtCaller(tool)}`,
      );
  }
  for (const [index, tool] of additionalTools.entries()) assertDefinition(`additionalTools[${index}]`, tool);
  const checked = {
    /** The graph runs their calls. */
    tools: tools.filter(isTool),
    /** The caller of the run executes their calls. */
    additionalTools: additionalTools as BindToolsInput[],
    /** The provider runs them. */
    providerTools: tools.filter(isProviderTool),
  };
  assertNames([...checked.tools, ...checked.providerTools, ...checked.additionalTools, ...formatTools]);
  return checked;
}

/**
 * Checks the tools that a chat middleware offers in one call.
 *
 * @param known The graph's tools.
 * @param formatTools The tools of its response format.
 * @param mayBeServed Whether function middleware can answer calls of other tools.
 * @throws InvalidToolError for a tool whose calls nobody can answer, a name that a provider would refuse, or a name
 * used twice.
 */
export function checkOffered(
  tools: unknown,
  known: readonly BindToolsInput[],
  formatTools: readonly BindToolsInput[],
  mayBeServed: boolean,
): readonly BindToolsInput[] {
  if (!Array.isArray(tools)) throw InvalidSettingError.expected("context.tools", "a list of tools", tools);
  const knownNames = new Set(known.map(toolName));
  for (const [index, tool] of tools.entries()) {
    if (known.includes(tool)) continue;
    assertDefinition(`context.tools[${index}]`, tool);
    const name = toolName(tool);
    if (mayBeServed || knownNames.has(name)) continue;
    throw new InvalidToolError(
      name,
      `\`context.tools\` has the tool \`${name}\`, which this graph cannot run. Add it to \`tools\` or \`additionalTools\`, or answer its calls in a function middleware.`,
    );
  }
  assertNames([...tools, ...formatTools]);
  return tools;
}

function assertDefinition(place: string, tool: unknown): asserts tool is BindToolsInput & object {
  if (isRecord(tool) && toolName(tool) !== "") return assertSchema(place, tool, SCHEMAS);
  throw notATool(place, "a LangChain tool, or a definition in OpenAI's form", hintAtClass(tool));
}

/** The fields that say which arguments a tool takes, in LangChain's tools and in providers' forms. */
const SCHEMAS = ["schema", "function", "parameters", "input_schema", "type"];

/** Without a schema, LangChain's clients send a tool as it is. Providers then refuse it or see no name. */
function assertSchema(place: string, tool: object, known: readonly string[] = ["schema"]): void {
  if (known.some((field) => Reflect.get(tool, field) !== undefined)) return;
  const name = toolName(tool);
  throw new InvalidToolError(
    name,
    `Expected \`${place}\`, the tool \`${name}\`, to have a \`schema\` of its arguments. Make it with \`tool()\` of @langchain/core/tools.`,
  );
}

function notATool(place: string, expectation: string, hint: string): InvalidToolError {
  return new InvalidToolError("", `Expected \`${place}\` to be ${expectation}.${hint}`);
}

function hintAtCaller(tool: unknown): string {
  return isRecord(tool) && toolName(tool) !== ""
    ? " A tool that the caller runs belongs in `additionalTools`."
    : "";
}

function assertReplay(tool: StructuredToolInterface): void {
  const { name } = tool;
  const replay: unknown = Object(Reflect.get(tool, "metadata"))["replay"];
  if (replay !== undefined && replay !== "safe" && replay !== "unsafe")
    throw new InvalidToolError(
      name,
      `Expected \`metadata.replay\` of the tool ${name} to be "safe" or "unsafe", got ${JSON.stringify(replay)}.`,
    );
}

/** A tool that the provider runs may have no name. */
function assertNames(tools: readonly object[]): void {
  const names = new Set<string>();
  for (const tool of tools) {
    const name = toolName(tool);
    if (name === "" && isProviderTool(tool)) continue;
    if (!TOOL_NAME.test(name))
      throw new InvalidToolError(
        name,
        `Not every provider accepts the tool name \`${name}\`. A name has 1 to 64 letters, digits, \`_\` and \`-\`, and begins with a letter or \`_\`.`,
      );
    if (names.has(name))
      throw new InvalidToolError(
        name,
        `Two tools are named \`${name}\`. The name of a tool call must identify one tool.`,
      );
    names.add(name);
  }
}

/** The name of a tool or of a definition in OpenAI's form; `""` if it is missing. */
export function toolName(tool: object): string {
  const definition: unknown = Reflect.get(tool, "function");
  const name: unknown = Reflect.get(isRecord(definition) ? definition : tool, "name");
  return typeof name === "string" ? name : "";
}

function isTool(value: unknown): value is StructuredToolInterface {
  return isRecord(value) && typeof value["name"] === "string" && typeof value["invoke"] === "function";
}

/*
 * Whether the model may, must or must not call a tool.
 */

const requiredSchema = z.strictObject({
  mode: z.literal("required"),
  /** The tool that must be called. @default any tool */
  requiredFunctionName: z.string().min(1).optional(),
  /** `"end"` ends the run with the results. `"respond"` lets the model respond with a text. @default "end" */
  afterRequired: z.enum(["end", "respond"]).optional(),
});

const MODES = ["auto", "none", "required"] as const;
const toolChoiceSchema = z.union([z.enum(MODES), requiredSchema]);

/**
 * Whether the model may, must or must not call a tool.
 *
 * - `"auto"`: the model decides.
 * - `"none"`: the model calls no tool. A call that it makes anyway is removed.
 * - `"required"`: the model must call a tool, and the run ends with the results. An object can name the tool
 *   and choose what follows its results.
 */
export type ToolChoice = z.infer<typeof toolChoiceSchema>;

export const toolChoiceRule = {
  schema: toolChoiceSchema,
  expects:
    'auto, none, required or { mode: "required", requiredFunctionName?: string, afterRequired?: "end" | "respond" }',
  hint: hintAtName(MODES),
} satisfies Rule;

/** The tool that a choice requires; undefined if it names none. */
export function requiredFunctionOf(choice: ToolChoice): string | undefined {
  return typeof choice === "object" ? choice.requiredFunctionName : undefined;
}

/** What follows a required call's results; undefined if the choice requires no call. */
export function afterRequired(choice: ToolChoice): "end" | "respond" | undefined {
  if (typeof choice === "object") return choice.afterRequired ?? "end";
  return choice === "required" ? "end" : undefined;
}

/**
 * Checks a choice.
 *
 * @param toolNames The names of all tools that the model can call.
 * @throws InvalidSettingError for an invalid choice, or for a choice that requires a tool that does not exist.
 */
export function readToolChoice(given: unknown, toolNames: readonly string[]): ToolChoice {
  const { success, data: choice } = toolChoiceSchema.safeParse(given);
  if (!success) throw InvalidSettingError.expected("toolChoice", toolChoiceRule.expects, given);
  if (afterRequired(choice) === undefined) return choice;
  const name = requiredFunctionOf(choice);
  const isKnown = name === undefined ? toolNames.length > 0 : toolNames.includes(name);
  if (isKnown) return choice;
  const known = toolNames.length > 0 ? `The tools are: ${toolNames.join(", ")}.` : "This graph has no tool.";
  const wanted = name === undefined ? "`toolChoice` requires a call" : `\`toolChoice\` requires \`${name}\``;
  throw new InvalidSettingError("toolChoice", `${wanted}, but there is no such tool. ${known}`);
}
