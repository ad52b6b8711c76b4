import { describe, expect, it } from "vitest";
import { allowedTools, type LoadedTools } from "../../../server/mcp/create-mcp-tools.js";
import { createDeployTools } from "../../../server/tools/create-tools.js";
import { createProbe } from "../../support/probe-tools.js";

const own = createDeployTools();
const none: LoadedTools = { tools: [], events: [] };
const [remote] = [createProbe().fast];
const connected: LoadedTools = {
  tools: [{ tool: remote, names: ["fast", "far__fast"] }],
  events: [],
};
const missing: LoadedTools = {
  tools: [],
  events: [{ type: "mcp-server-failed", server: "far", reason: "it is down" }],
};
const namesOf = (...given: Parameters<typeof allowedTools>) => allowedTools(...given).map(({ name }) => name);

describe("ALLOWED_TOOLS", () => {
  it("leaves all tools if it is not set", () => {
    expect(namesOf(undefined, own, connected)).toEqual([...own.map(({ name }) => name), "fast"]);
  });

  it("leaves the tools that it names, in any order", () => {
    expect(namesOf(["search_notes", "calculator"], own, none)).toEqual(["calculator", "search_notes"]);
  });

  it("names a tool of an MCP server with or without the name of the server", () => {
    for (const name of ["fast", "far__fast"]) expect(namesOf([name], own, connected)).toEqual(["fast"]);
  });

  it.each([
    [none, "Calcolator", / Did you mean `calculator`\?$/],
    [
      none,
      "shell",
      /^Expected `ALLOWED_TOOLS` to be names of tools of this server \(calculator, .*\), got `"shell"`\.$/,
    ],
    [connected, "far_fast", / Did you mean `far__fast`\?$/],
  ])("refuses a name that no tool has: %#", (loaded, name, says) => {
    expect(() => allowedTools(["calculator", name], own, loaded)).toThrow(says);
  });

  it("waits for a server that may have the tool", () => {
    expect(namesOf(["calculator", "fast"], own, missing)).toEqual(["calculator"]);
  });
});
