/** `tsc -p .` checks these types. A run of the file shows that they are true of the values. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { describe, expect, expectTypeOf, it } from "vitest";
import type {
  AgentGraphOptions,
  CreateModel,
  Middleware,
  RequireApproval,
  RunContext,
  ToolChoice,
} from "../../src/index.js";
import { type ProviderTool, resolveSettings, type SettingName } from "../support/internals.js";

type Given<Name extends keyof AgentGraphOptions> = Exclude<AgentGraphOptions[Name], undefined>;

describe("The options of a graph", () => {
  it("are the rows of the table, and only the model is required", () => {
    expectTypeOf<keyof AgentGraphOptions>().toEqualTypeOf<SettingName>();
    expectTypeOf<{ model: "offline:" }>().toExtend<AgentGraphOptions>();
    expectTypeOf<{ model: "offline:"; maxIterations: undefined }>().toExtend<AgentGraphOptions>();
    expectTypeOf<{ models: [] }>().not.toExtend<AgentGraphOptions>();
  });

  it("have the types that their users write", () => {
    expectTypeOf<Given<"model">>().toEqualTypeOf<BaseChatModel | string>();
    expectTypeOf<Given<"models">>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Given<"createModel">>().toEqualTypeOf<CreateModel>();
    expectTypeOf<Given<"tools">>().toEqualTypeOf<readonly (StructuredToolInterface | ProviderTool)[]>();
    expectTypeOf<Given<"additionalTools">>().toEqualTypeOf<readonly BindToolsInput[]>();
    expectTypeOf<Given<"middleware">>().toEqualTypeOf<readonly Middleware[]>();
    expectTypeOf<Given<"requireApproval">>().toEqualTypeOf<RequireApproval>();
    expectTypeOf<Given<"toolChoice">>().toEqualTypeOf<ToolChoice>();
    expectTypeOf<Given<"coveredMessages">>().toEqualTypeOf<"keep" | "archive">();
    expectTypeOf<Given<"summaryLanguage">>().toEqualTypeOf<"en" | "zh">();
    expectTypeOf<Given<"checkpointer">>().toEqualTypeOf<BaseCheckpointSaver | boolean>();
    expectTypeOf<Given<"store">>().toEqualTypeOf<BaseStore>();
  });
});

describe("The settings of a graph", () => {
  it("are there where they have a default", () => {
    const settings = resolveSettings({ model: "offline:" });
    expectTypeOf(settings.maxIterations).toEqualTypeOf<number>();
    expectTypeOf(settings.toolTimeoutMs).toEqualTypeOf<number | undefined>();
    expect([settings.maxIterations, settings.toolTimeoutMs]).toEqual([40, undefined]);
  });
});

it("A run names its model, and cannot bring one", () => {
  expectTypeOf<RunContext["model"]>().toEqualTypeOf<string | undefined>();
});
