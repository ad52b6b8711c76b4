/** The tools of a recorded request. */

import type { Protocol } from "./protocols.js";
import { type Fields, isFields, listOf, textOf } from "./values.js";

export interface Tools {
  readonly toolNames: readonly string[];
  readonly serverTools: readonly Fields[];
}

export function toolsOf(protocol: Protocol, request: Fields | undefined): Tools {
  const toolConfig = request?.["toolConfig"];
  const given = protocol === "converse" && isFields(toolConfig) ? toolConfig["tools"] : request?.["tools"];
  const toolNames = new Set<string>();
  const serverTools: Fields[] = [];
  for (const entry of listOf(given)) {
    const names = namesIn(entry);
    for (const name of names) toolNames.add(name);
    if (names.length === 0) serverTools.push(entry);
    else if (protocol === "gemini") {
      const { functionDeclarations, function_declarations, ...rest } = entry;
      const others = Object.entries(rest).filter(([, value]) => value !== null);
      if (others.length > 0) serverTools.push(Object.fromEntries(others));
    }
  }
  return { toolNames: [...toolNames], serverTools };
}

function namesIn(entry: Fields): string[] {
  const { type, name, toolSpec } = entry;
  const inner = isFields(entry["function"]) ? entry["function"] : isFields(toolSpec) ? toolSpec : undefined;
  if (inner !== undefined) return [textOf(inner["name"])];
  const declared = listOf(entry["functionDeclarations"] ?? entry["function_declarations"]);
  if (declared.length > 0) return declared.map((tool) => textOf(tool["name"]));
  const isOwn = type === "function" || type === "custom" || type === undefined || type === null;
  return isOwn && typeof name === "string" ? [name] : [];
}
