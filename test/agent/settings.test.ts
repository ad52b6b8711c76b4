import { describe, expect, it } from "vitest";
import { HELP } from "../../scripts/write-settings-table/settings-documents.js";
import { resolveSettings, SETTINGS, type SettingName } from "../../src/agent/settings/settings.js";
import { type Setting, variableOf } from "../../src/shared/check-settings.js";

/** The last sentence of the help, without its end. Without a value, the model or another setting decides. */
function wordsFor(value: unknown): RegExp {
  if (value === undefined) return /\. (?:Required|Default: \S.+)\.$/;
  if (typeof value === "function") return /\. Default: a `cachedCreateModel\(\)` for this graph alone\.$/;
  const words = {
    object: "none",
    string: `\`${value}\``,
    number: value === Number.POSITIVE_INFINITY ? "no limit" : Number(value).toLocaleString("en"),
    boolean: String(value),
  };
  return new RegExp(`\\. Default: ${words[typeof value as keyof typeof words]}\\.$`);
}

const rows = Object.entries<Setting>(SETTINGS).map(([name, row]) => ({
  ...row,
  name: name as SettingName,
  help: HELP.get(name) ?? "",
}));

describe.each(rows)("The option $name", ({ name, help, expects, default: value }) => {
  it("has the default that its help ends with", () => {
    expect(help).toMatch(wordsFor(value));
    const resolved = Object.entries(resolveSettings({ model: "offline:", [name]: undefined }));
    const expected = typeof value === "function" ? expect.any(Function) : value;
    expect(resolved.find(([option]) => option === name)).toEqual([name, expected]);
  });

  it("has words that complete a sentence", () => {
    expect(expects).toMatch(/^\S.*[^.\s]$/);
  });
});

it.each(rows.filter(({ lowerOnly }) => lowerOnly))(
  "The limit $name is a number that a run may choose",
  ({ perRun, default: value }) => {
    expect([perRun, typeof value]).toEqual([true, "number"]);
  },
);

describe("resolveSettings", () => {
  it("keeps every value that is set, including false, 0 and an empty text", () => {
    const given = { autoInvoke: false, maxToolCalls: 0, summaryPrompt: "", toolChoice: "none" } as const;
    expect(resolveSettings({ model: "offline:", ...given })).toMatchObject(given);
  });

  it("makes a new function for each graph without `createModel`", () => {
    const [first, second] = [1, 2].map(() => resolveSettings({ model: "offline:" }).createModel);
    expect(first).not.toBe(second);
  });

  it("uses each environment variable for one option", () => {
    const names = rows.flatMap(({ name, env }) => (env ? variableOf(name) : []));
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(20);
  });
});
