import { describe, expect, it } from "vitest";
import { z } from "zod";
import { HELP } from "../../scripts/write-settings-table/settings-documents.js";
import { checkAllowedSettings, readRunContext } from "../../src/agent/settings/run-context.js";
import { resolveSettings, runContextSchema } from "../support/internals.js";

const PER_RUN = [
  "model",
  "systemPrompt",
  "toolChoice",
  "maxIterations",
  "maxToolCalls",
  "maxToolCallsPerThread",
  "maxTokensPerTurn",
  "maxTokensPerThread",
  "maxConsecutiveErrors",
  "maxToolCallsFromHistory",
  "maxTokensBeforeSummary",
  "maxMessagesBeforeSummary",
  "messagesToKeep",
  "tokensToKeep",
] as const;

const graph = resolveSettings({ model: "offline:", maxIterations: 5 });

describe("The schema of a context", () => {
  const form = z.toJSONSchema(runContextSchema);
  const fields = Object.entries(form.properties ?? {});

  it("has a field for each setting of a run, with its help as the description", () => {
    const described = fields.map(([name, field]) => [name, Object(field).description]);
    // A run needs none of them, and each has the graph's value.
    const helpInRun = (name: string) =>
      HELP.get(name)?.replace(/(?:Required|Default: .+)\.$/, "Default: that of the graph.");
    expect(described).toEqual(PER_RUN.map((name) => [name, helpInRun(name)]));
  });

  it("requires no field and has no defaults, because a run can have no context", () => {
    expect(form.required).toBeUndefined();
    expect(runContextSchema.parse({})).toEqual({});
  });
});

describe("readRunContext", () => {
  it("raises settings that are not limits", () => {
    const raised = { messagesToKeep: 1000, maxTokensBeforeSummary: 1_000_000 };
    expect(readRunContext(raised, graph, [], false)).toEqual(raised);
  });

  it.each([
    ["a setting that is not allowed", "systemPrompt", "This graph does not let a run choose `systemPrompt`."],
    ["a setting of a parent graph", "tenant", "Unknown setting `tenant`"],
  ])("refuses %s, and ignores it in a subgraph", (_title, name, says) => {
    const strict = { ...graph, allowedSettings: ["maxIterations"] };
    const context = { maxIterations: 2, [name]: "a" };
    expect(() => readRunContext(context, strict, [], false)).toThrow(says);
    expect(readRunContext(context, strict, [], true)).toEqual({ maxIterations: 2 });
  });

  it("can let a run choose known settings only", () => {
    expect(() => checkAllowedSettings(["systemPromt"])).toThrow("Did you mean `systemPrompt`?");
  });
});
