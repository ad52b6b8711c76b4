import type { StructuredToolInterface } from "@langchain/core/tools";
import { InvalidSettingError } from "../../errors.js";
import { didYouMean } from "../../shared/text.js";
import type { LoadedTools } from "./create-mcp-tools.js";

/**
 * The tools that `ALLOWED_TOOLS` names, or all of them. A tool of an MCP server can be named as the server does, too. A
 * name that no tool has is refused, unless a server is missing that may have the tool.
 *
 * @throws InvalidSettingError for the first such name.
 */
export function allowedTools(
  allowed: readonly string[] | undefined,
  own: readonly StructuredToolInterface[],
  { tools, events }: LoadedTools,
): StructuredToolInterface[] {
  const all = [...own.map((tool) => ({ tool, names: [tool.name] })), ...tools];
  const known = [...new Set(all.flatMap(({ names }) => names))];
  const unknown = allowed?.find((name) => !known.includes(name));
  if (unknown !== undefined && events.length === 0)
    throw InvalidSettingError.expected(
      "ALLOWED_TOOLS",
      `names of tools of this server (${known.join(", ")})`,
      unknown,
      didYouMean(unknown, known),
    );
  const isAllowed = (names: readonly string[]) =>
    allowed === undefined || names.some((name) => allowed.includes(name));
  return all.flatMap(({ tool, names }) => (isAllowed(names) ? tool : []));
}
