import type { RequireApproval } from "../../agent/approval-rules.js";
import type { LoadedTools } from "./create-mcp-tools.js";

/**
 * `requireApproval` with the names that the tools of MCP servers have in the graph. An operator writes the name that the
 * server uses. If two tools have that name, calls of both need approval. A name that no tool has stays, and is refused,
 * unless a server is missing that may have the tool.
 */
export function approvalNames(
  given: RequireApproval | undefined,
  own: readonly string[],
  { tools, events }: LoadedTools,
): RequireApproval | undefined {
  if (given === undefined || typeof given === "function") return given;
  const namesFor = (name: string): string[] => {
    const meant = tools.filter(({ names: known }) => known.includes(name)).map(({ tool }) => tool.name);
    const isLeftOut = meant.length === 0 && events.length > 0;
    return own.includes(name) || (meant.length === 0 && !isLeftOut) ? [name, ...meant] : meant;
  };
  if (isNames(given)) return [...new Set(given.flatMap(namesFor))];
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, options]) => namesFor(name).map((meant) => [meant, options])),
  );
}

/** `Array.isArray` does not narrow a readonly list. */
function isNames(given: object): given is readonly string[] {
  return Array.isArray(given);
}
