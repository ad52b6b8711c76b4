import { describe, expect, it } from "vitest";
import {
  approvalNames,
  createToolNames,
  type LoadedTools,
  legalName,
  prefixedName,
} from "../../../server/mcp/create-mcp-tools.js";
import { acting } from "../../support/steering.js";

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

describe("approvalNames", () => {
  const named = (server: string, tool: string, name: string) => ({
    tool: acting(name),
    names: [name, legalName(tool), prefixedName(server, tool)],
  });
  const both: LoadedTools = {
    tools: [named("b", "search", "search"), named("a", "search", "a__search")],
    events: [],
  };
  const oneIsMissing: LoadedTools = {
    ...both,
    events: [{ type: "mcp-server-failed", server: "c", reason: "it is down" }],
  };

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
    expect(approvalNames(["search", "remove", "calculator"], ["calculator"], oneIsMissing)).toEqual([
      "search",
      "a__search",
      "calculator",
    ]);
  });
});
