/** Threads in a JSON file: a list of messages, what `getState` returned, or one of these on each line. */

import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { OptionValues } from "commander";
import { parseJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { listsIn, type ShownState, threadOfState } from "../shown-state.js";
import { type StoredThread, selectThreads, type ThreadStore } from "../thread-store.js";
import { type OpenContext, optionOf, reasonOf, type TargetKind, UsageError } from "./target.js";

export const fileTarget: TargetKind = {
  option: optionOf(
    "--file <FILE>",
    "A JSON file: a list of messages, what getState returned, or one of these on each line. - reads standard input.",
  ),
  further: [],
  canWrite: false,
  open: openFile,
  fromReceipt: () => undefined,
};

type FileContext = Pick<OpenContext, "folder" | "readInput">;

async function openFile({ file }: OptionValues, context: FileContext): Promise<ThreadStore> {
  const text = await readFileOrInput(file, context);
  const name = file === "-" ? "standard input" : file;
  const values = parseThreads(text, name);
  const threads = new Map<string, StoredThread>();
  for (const [index, value] of values.entries()) {
    const entry = values.length === 1 ? "" : `, in entry ${index + 1}`;
    const fallback = values.length === 1 ? basename(name) : `${basename(name)}:${index + 1}`;
    const thread = toThread(value, fallback);
    if (thread === undefined)
      throw new UsageError(`Expected ${name} to be a list of messages or what getState returned${entry}.`);
    const threadId = threads.has(thread.threadId) ? fallback : thread.threadId;
    threads.set(threadId, { ...thread, threadId });
  }
  return {
    target: file === "-" ? name : `file:${file}`,
    canWrite: false,
    unseen: [...threads.values()].some(({ openTasks }) => openTasks !== undefined)
      ? "A state in a file does not have what its subgraphs keep, or results that came after the end of their run. They were not looked at."
      : undefined,
    // Such a file lacks metadata, status and time, or their form differs with its source, so they select nothing.
    threads: (selection) => selectThreads(threads.values(), selection),
    read: async ({ threadId }) => {
      const thread = threads.get(threadId);
      if (thread === undefined) throw new Error(`There is no thread ${threadId} in ${name}.`);
      return thread;
    },
    write: async () => {
      throw new UsageError("A file cannot be repaired in place.");
    },
    close: async () => {},
  };
}

/**
 * @param file `-` for standard input.
 * @throws UsageError if the file cannot be read.
 */
export async function readFileOrInput(file: string, { folder, readInput }: FileContext): Promise<string> {
  if (file === "-") return readInput();
  return readFile(resolve(folder, file), "utf8").catch((error: unknown) => {
    throw new UsageError(
      Object(error).code === "ENOENT"
        ? `There is no file ${file}.`
        : `The file ${file} cannot be read: ${reasonOf(error)}`,
    );
  });
}

/** The threads of a text. @throws UsageError for a text that is not JSON. */
export function parseThreads(text: string, name: string): unknown[] {
  if (text.trim() === "") throw new UsageError(`Expected ${name} to be JSON, and it is empty.`);
  // Some programs begin a file with a byte order mark.
  const whole = parseJson(text.replace(/^\uFEFF/, ""));
  if (whole !== undefined)
    return Array.isArray(whole) && whole.length > 0 && whole.every(isState) ? whole : [whole];
  const lines = text.split("\n").map((line, index) => ({ line: line.trim(), number: index + 1 }));
  return lines
    .filter(({ line }) => line !== "")
    .map(({ line, number }) => {
      const value = parseJson(line);
      if (value === undefined)
        throw new UsageError(`Expected ${name} to be JSON, or JSON lines. Line ${number} is not JSON.`);
      return value;
    });
}

const isState = (value: unknown): boolean =>
  isRecord(value) && (isRecord(value["values"]) || Array.isArray(value["messages"]));

function toThread(value: unknown, fallback: string): StoredThread | undefined {
  const messages = listInFile(value);
  const state: Record<string, unknown> = isRecord(value) ? value : {};
  const isOfState = isRecord(state["values"]);
  const values = isOfState ? state["values"] : messages === undefined ? state : {};
  // The messages can be in another channel.
  if (messages === undefined && !isOfState && listsIn(state).messages === undefined) return undefined;
  const shown: ShownState = { ...state, values: { ...Object(values), ...(messages && { messages }) } };
  const isSnapshot = Array.isArray(state["tasks"]);
  const thread = threadOfState(fallback, shown, isSnapshot ? [shown] : []);
  const { configurable } = Object(state["config"]);
  const places = [state, shown.checkpoint, configurable, shown.metadata].map(Object);
  const isText = (id: unknown) => typeof id === "string";
  return {
    ...thread,
    threadId: places.map(({ thread_id }) => thread_id).find(isText) ?? fallback,
    checkpointId: [thread.checkpointId, Object(configurable).checkpoint_id].find(isText),
    status: state["status"] === "busy" && thread.status === "idle" ? "busy" : thread.status,
    openTasks: isSnapshot ? thread.openTasks : undefined,
  };
}

/** The list of messages in a file's value; undefined if there is none. */
export function listInFile(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isRecord(value)) return undefined;
  const values = value["values"];
  const messages =
    isRecord(values) && !Array.isArray(values) ? values["messages"] : (value["messages"] ?? values);
  return Array.isArray(messages) ? messages : undefined;
}
