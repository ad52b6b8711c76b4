/** The names under which models call the tools of MCP servers. */

import { createHash } from "node:crypto";

const MOST_LETTERS = 64;

/** A name that every provider accepts: 1 to 64 letters, digits, `_` and `-`, and no digit or `-` at its beginning. */
export function legalName(name: string): string {
  const letters = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const begun = /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`;
  if (begun.length <= MOST_LETTERS) return begun;
  // Two long names can have the same beginning.
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${begun.slice(0, MOST_LETTERS - mark.length - 1)}_${mark}`;
}

/** The name of a tool with its server before it. */
export function prefixedName(server: string, tool: string): string {
  return legalName(`${server}__${tool}`);
}

/**
 * Makes the function that names tools. A tool has its own name, or, if another tool has that name, the name with its
 * server before it. A tool keeps its name as long as the process runs, because histories and questions about approval
 * contain it.
 */
export function createToolNames() {
  const names = new Map<string, string>();
  return function nameTool(server: string, tool: string, isTaken: (name: string) => boolean): string {
    const key = JSON.stringify([server, tool]);
    const known = names.get(key);
    if (known !== undefined) return known;
    const used = new Set(names.values());
    const isFree = (name: string) => !used.has(name) && !isTaken(name);
    const prefixed = prefixedName(server, tool);
    const numbered = Array.from({ length: used.size + 2 }, (_, index) =>
      legalName(`${prefixed}_${index + 2}`),
    );
    const name = [legalName(tool), prefixed, ...numbered].find(isFree) ?? prefixed;
    names.set(key, name);
    return name;
  };
}
