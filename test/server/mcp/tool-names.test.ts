import { describe, expect, it } from "vitest";
import {
  allowedTools,
  approvalNames,
  createToolNames,
  type LoadedTools,
  legalName,
  prefixedName,
} from "../../../server/mcp/create-mcp-tools.js";
import { createDeployTools } from "../../../server/tools/create-tools.js";
import { acting } from "../../support/steering.js";
import { createProbe } from "../../support/tools.js";

const LEGAL = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const none = () => false;

describe("legalName", () => {
  it.each([
    ["search", "search"],
    ["repo.search/v2", "repo_search_v2"],
    ["2fast", "_2fast"],
    ["-flag", "_-flag"],
    ["", "_"],
    ["天気", "__"],
  ])("makes %j %j", (name, expected) => {
    expect(legalName(name)).toBe(expected);
    expect(expected).toMatch(LEGAL);
  });

  it("shortens long names, and keeps them apart", () => {
    const names = ["a", "b"].map((end) => legalName(`${"x".repeat(100)}${end}`));
    for (const name of names) expect(name).toMatch(LEGAL);
    expect(new Set(names).size).toBe(2);
  });
});

describe("createToolNames", () => {
  it("puts the server before a name that another tool has, and a number after it if that is not enough", () => {
    const nameTool = createToolNames();
    expect(nameTool("a", "search", none)).toBe("search");
    expect(nameTool("b", "search", none)).toBe("b__search");
    expect(nameTool("c", "time", (name) => name === "time")).toBe("c__time");
    expect(nameTool("d", "x.y", none)).toBe("x_y");
    expect(nameTool("d", "x/y", none)).toBe("d__x_y");
    expect(nameTool("d", "x y", none)).toBe("d__x_y_2");
  });

  it("keeps names", () => {
    const nameTool = createToolNames();
    nameTool("b", "search", none);
    nameTool("a", "search", none);
    expect(nameTool("a", "search", none)).toBe("a__search");
    expect(nameTool("b", "search", none)).toBe("search");
  });
});

const events: LoadedTools["events"] = [{ type: "mcp-server-failed", server: "c", reason: "it is down" }];

describe("approvalNames", () => {
  const named = (server: string, tool: string, name: string) => ({
    tool: acting(name),
    names: [name, legalName(tool), prefixedName(server, tool)],
  });
  const tools = [named("b", "search", "search"), named("a", "search", "a__search")];
  const both: LoadedTools = { tools, events: [] };

  it.each([
    ["search", ["search", "a__search"]],
    ["a__search", ["a__search"]],
    ["b__search", ["search"]],
    ["calculator", ["calculator"]],
    ["serch", ["serch"]],
  ])("means by %s the tools %j", (name, expected) => {
    expect(approvalNames([name], ["calculator"], both)).toEqual(expected);
  });

  it("leaves out a name that a missing server may have", () => {
    const names = approvalNames(["search", "remove", "calculator"], ["calculator"], { ...both, events });
    expect(names).toEqual(["search", "a__search", "calculator"]);
  });
});

describe("ALLOWED_TOOLS", () => {
  const own = createDeployTools();
  const nothing: LoadedTools = { tools: [], events: [] };
  const [remote] = [createProbe().fast];
  const connected: LoadedTools = { tools: [{ tool: remote, names: ["fast", "far__fast"] }], events: [] };
  const namesOf = (...given: Parameters<typeof allowedTools>) =>
    allowedTools(...given).map(({ name }) => name);

  it("leaves all tools if it is not set", () => {
    expect(namesOf(undefined, own, connected)).toEqual([...own.map(({ name }) => name), "fast"]);
  });

  it("leaves the tools that it names, in any order", () => {
    expect(namesOf(["search_notes", "calculator"], own, nothing)).toEqual(["calculator", "search_notes"]);
  });

  it("names a tool of an MCP server with or without the name of the server", () => {
    for (const name of ["fast", "far__fast"]) expect(namesOf([name], own, connected)).toEqual(["fast"]);
  });

  it.each([
    [nothing, "Calcolator", / Did you mean `calculator`\?$/],
    [
      nothing,
      "shell",
      /^Expected `ALLOWED_TOOLS` to be names of tools of this server \(calculator, .*\), got `"shell"`\.$/,
    ],
    [connected, "far_fast", / Did you mean `far__fast`\?$/],
  ])("refuses a name that no tool has: %#", (loaded, name, says) => {
    expect(() => allowedTools(["calculator", name], own, loaded)).toThrow(says);
  });

  it("waits for a server that may have the tool", () => {
    expect(namesOf(["calculator", "fast"], own, { tools: [], events })).toEqual(["calculator"]);
  });
});
