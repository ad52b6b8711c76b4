/** The agents whose turns are measured: ours with each setting, and LangChain's. */

import type { BaseMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, type BaseStore, MemorySaver } from "@langchain/langgraph";
import { createPatchToolCallsMiddleware } from "deepagents";
import { createAgent, summarizationMiddleware } from "langchain";
import { createAgentGraph, messageSerializer } from "../src/index.js";
import {
  ARCHIVE,
  ARCHIVE_DELTA_SERIALIZER,
  CREATE_AGENT,
  DELTA,
  DELTA_SERIALIZER,
  FULL,
  WITH_PATCH,
  WITH_SUMMARY,
} from "./contenders.js";
import { InstantModel, look } from "./instant-model.js";

/** What is used of a compiled graph. */
export interface AnyAgent {
  invoke(input: object, config: object): Promise<{ messages: BaseMessage[] }>;
  getState(config: object): Promise<{ values: { messages?: BaseMessage[] } }>;
  updateState(config: object, values: object): Promise<unknown>;
}

export type Serializer = BaseCheckpointSaver["serde"];

export interface AgentParts {
  readonly checkpointer: BaseCheckpointSaver;
  readonly store: BaseStore;
  /** @default a model that responds at once */
  readonly model?: InstantModel;
  /** @default a tool that returns at once */
  readonly tool?: typeof look;
}

export interface AgentKind {
  /**
   * What a turn in a long thread costs. `long`: as many checkpoints with all messages as the turn has steps. `some`: it
   * reads all messages, and stores a few. `short`: a summary keeps the thread short.
   */
  readonly cost: "long" | "some" | "short";
  readonly createSerializer: () => Serializer;
  readonly create: (parts: AgentParts) => AnyAgent;
}

/** The same for ours and for LangChain's: when to summarise, and how many messages stay. */
const TOKENS = 2_000;
const KEPT = 20;

type Settings = Partial<Parameters<typeof createAgentGraph>[0]>;

const langGraphs: AgentKind["createSerializer"] = () => new MemorySaver().serde;

const ours =
  (settings: Settings): AgentKind["create"] =>
  ({ checkpointer, store, model = new InstantModel(), tool = look }) =>
    createAgentGraph({
      model,
      tools: [tool],
      checkpointer,
      store,
      maxTokensBeforeSummary: 0,
      ...settings,
    }) as unknown as AnyAgent;

const theirs =
  (...middleware: unknown[]): AgentKind["create"] =>
  ({ checkpointer, model = new InstantModel(), tool = look }) =>
    createAgent({ model, tools: [tool], checkpointer, middleware } as never).graph as unknown as AnyAgent;

const archive = {
  maxTokensBeforeSummary: TOKENS,
  messagesToKeep: KEPT,
  coveredMessages: "archive",
} as const;

export const AGENTS: Readonly<Record<string, AgentKind>> = {
  [CREATE_AGENT]: { cost: "long", createSerializer: langGraphs, create: theirs() },
  [WITH_PATCH]: {
    cost: "long",
    createSerializer: langGraphs,
    create: theirs(createPatchToolCallsMiddleware()),
  },
  [WITH_SUMMARY]: {
    cost: "short",
    createSerializer: langGraphs,
    create: theirs(
      summarizationMiddleware({
        model: new InstantModel(),
        trigger: { tokens: TOKENS },
        keep: { messages: KEPT },
      } as never),
    ),
  },
  [FULL]: { cost: "long", createSerializer: langGraphs, create: ours({}) },
  [DELTA]: { cost: "some", createSerializer: langGraphs, create: ours({ messagesChannel: "delta" }) },
  [DELTA_SERIALIZER]: {
    cost: "some",
    createSerializer: () => messageSerializer(),
    create: ours({ messagesChannel: "delta" }),
  },
  [ARCHIVE]: { cost: "short", createSerializer: langGraphs, create: ours(archive) },
  [ARCHIVE_DELTA_SERIALIZER]: {
    cost: "short",
    createSerializer: () => messageSerializer(),
    create: ours({ ...archive, messagesChannel: "delta" }),
  },
};
