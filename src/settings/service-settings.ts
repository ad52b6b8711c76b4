/** Settings of the services of a graph: middleware, a checkpointer and a store. */

import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { z } from "zod/v4";
import { readFlag, readNames, readText } from "./environment-text.js";
import { flag, listOf, objectWith, oneOf, orFlag } from "./rule.js";
import type { SettingsTable } from "./setting.js";

export const SERVICE_SETTINGS = {
  /** Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none. */
  middleware: {
    ...listOf<unknown>("middleware"),
    help: "Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none.",
    default: [],
  },
  /**
   * Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. As a subgraph,
   * `true` gives the agent a memory of its own in each thread of its parent, and `false` saves nothing. Default: none.
   */
  checkpointer: {
    ...orFlag(objectWith<BaseCheckpointSaver>("getTuple", "a checkpointer, true or false")),
    help: "Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. As a subgraph, `true` gives the agent a memory of its own in each thread of its parent, and `false` saves nothing. Default: none.",
    default: undefined,
  },
  /**
   * How checkpoints store the messages. With `full`, each checkpoint holds all of them. With `delta`, it holds those that
   * its step added, which writes far fewer bytes in a long thread. LangGraph calls its delta channel beta. A thread can
   * change from one to the other. Default: `full`.
   */
  messagesChannel: {
    ...oneOf(["full", "delta"]),
    help: "How checkpoints store the messages. With `full`, each checkpoint holds all of them. With `delta`, it holds those that its step added, which writes far fewer bytes in a long thread. LangGraph calls its delta channel beta. A thread can change from one to the other. Default: `full`.",
    default: "full",
    env: { name: "MESSAGES_CHANNEL", read: readText },
  },
  /**
   * What happens when a run starts while another run of the same thread goes on in this process. With `enqueue` it waits
   * until that run has ended. With `reject` it fails with `THREAD_BUSY`. Default: `enqueue`.
   */
  concurrentRuns: {
    ...oneOf(["enqueue", "reject"]),
    help: "What happens when a run starts while another run of the same thread goes on in this process. With `enqueue` it waits until that run has ended. With `reject` it fails with `THREAD_BUSY`. Default: `enqueue`.",
    default: "enqueue",
  },
  /**
   * Whether runs take messages that are put into the inbox of their thread while they go on. The inbox is in the store.
   * Each model request reads it once, and so does the end of a turn. Default: true.
   */
  steering: {
    ...flag,
    help: "Whether runs take messages that are put into the inbox of their thread while they go on. The inbox is in the store. Each model request reads it once, and so does the end of a turn. Default: true.",
    default: true,
    env: { name: "STEERING", read: readFlag },
  },
  /**
   * The names of the settings that a run may choose in its `context`. Leave out `systemPrompt` to lock it. Default: all
   * that are marked "per run".
   */
  allowedSettings: {
    schema: z.array(z.string()).readonly(),
    expects: "a list of names of settings",
    help: 'The names of the settings that a run may choose in its `context`. Leave out `systemPrompt` to lock it. Default: all that are marked "per run".',
    default: undefined,
    env: { name: "ALLOWED_SETTINGS", read: readNames, expects: "names of settings separated by commas" },
  },
  /** The long-term memory that tools may use. A LangGraph server brings its own. Default: none. */
  store: {
    ...objectWith<BaseStore>("search", "a store"),
    help: "The long-term memory that tools may use. A LangGraph server brings its own. Default: none.",
    default: undefined,
  },
} as const satisfies SettingsTable;
