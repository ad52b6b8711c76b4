import { describe, expect, it } from "vitest";
import { HELP } from "../../scripts/write-settings-table/settings-documents.js";
import { resolveSettings, SETTINGS, type SettingName } from "../../src/agent/settings/settings.js";
import { type Setting, variableOf } from "../../src/shared/check-settings.js";

/** The last sentence of the help, for each option. */
const DEFAULTS: { readonly [Name in SettingName]: readonly [words: string, value: unknown] } = {
  model: ["Required", undefined],
  models: ["Default: none", []],
  fallbackModels: ["Default: none", []],
  createModel: ["Default: a `cachedCreateModel()` for this graph alone", expect.any(Function)],
  dialect: ["Default: the rules of each model's provider, by its client, host and name", undefined],
  systemPrompt: ["Default: none", undefined],
  promptCache: ["Default: `auto`", "auto"],
  acceptSystemMessages: ["Default: true", true],
  maxMessageLength: ["Default: no limit", Number.POSITIVE_INFINITY],
  maxStreamFallbackAttempts: ["Default: 3", 3],
  tools: ["Default: none", []],
  requireApproval: ["Default: none", []],
  toolChoice: ["Default: `auto`", "auto"],
  responseFormat: ["Default: a text", undefined],
  additionalTools: ["Default: none", []],
  autoInvoke: ["Default: true", true],
  terminateOnUnknownCalls: ["Default: false", false],
  includeDetailedErrors: ["Default: false", false],
  toolTimeoutMs: ["Default: no limit", undefined],
  maxIterations: ["Default: 40", 40],
  maxToolCalls: ["Default: no limit", Number.POSITIVE_INFINITY],
  maxToolCallsPerThread: ["Default: no limit", Number.POSITIVE_INFINITY],
  maxTokensPerTurn: ["Default: no limit", Number.POSITIVE_INFINITY],
  maxTokensPerThread: ["Default: no limit", Number.POSITIVE_INFINITY],
  maxConsecutiveErrors: ["Default: 3", 3],
  maxToolCallsFromHistory: ["Default: all", undefined],
  maxTokensBeforeSummary: [
    "Default: 80 % of the model's input window, and no limit while the window is unknown",
    undefined,
  ],
  maxMessagesBeforeSummary: ["Default: 0", 0],
  messagesToKeep: ["Default: 20", 20],
  tokensToKeep: ["Default: none", undefined],
  summaryModel: ["Default: the model of the run", undefined],
  summaryLanguage: ["Default: `en`", "en"],
  summaryPrompt: ["Default: a text in `summaryLanguage`", undefined],
  summaryHeading: ["Default: a text in `summaryLanguage`", undefined],
  summaryTimeoutMs: ["Default: 60,000", 60_000],
  coveredMessages: ["Default: `keep`", "keep"],
  name: ["Default: none", undefined],
  stateSchema: ["Default: none", undefined],
  contextSchema: ["Default: none", undefined],
  middleware: ["Default: none", []],
  checkpointer: ["Default: none", undefined],
  messagesChannel: ["Default: `full`", "full"],
  concurrentRuns: ["Default: `enqueue`", "enqueue"],
  store: ["Default: none", undefined],
  allowedSettings: ['Default: all that are marked "per run"', undefined],
  steering: ["Default: true", true],
};

const rows = Object.entries<Setting>(SETTINGS).map(([name, row]) => ({
  ...row,
  name: name as SettingName,
  help: HELP.get(name) ?? "",
}));

describe.each(rows)("The option $name", ({ name, help, expects, default: value }) => {
  it("has the default that its help ends with", () => {
    expect(help.endsWith(`. ${DEFAULTS[name][0]}.`)).toBe(true);
    expect(value).toEqual(DEFAULTS[name][1]);
    const resolved = Object.entries(resolveSettings({ model: "offline:", [name]: undefined }));
    expect(resolved.find(([option]) => option === name)?.[1]).toEqual(DEFAULTS[name][1]);
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
