/** Prints what a run does while it runs. */

import type { AIMessage, Message, ToolMessage } from "@langchain/langgraph-sdk";
import type { RunEndEvent } from "../../src/threads/usage.js";
import { callsOf, placeholderCauseOf, textOf } from "./describe.js";
import { describeEvent, describeUsage, isAgentEvent } from "./describe-event.js";
import type { Style } from "./style.js";

/** One part of a run's stream, in the modes `messages-tuple`, `updates` and `custom`. */
export interface RunPart {
  readonly event: string;
  readonly data: unknown;
}

export interface RunPrinterOptions {
  /** Contract: appends to the output; must not throw. */
  readonly write: (text: string) => void;
  readonly style: Style;
  /** Whether the tokens of a run are printed at its end. @default false */
  readonly tellsUsage?: boolean;
}

export const RUN_STREAM_MODES = ["messages-tuple", "updates", "custom"] as const;

/**
 * Prints each text, tool call and result once. Chunks and complete messages look alike in the stream, so the printer
 * remembers what it printed by message id. A complete message adds only what its chunks did not bring. One printer
 * serves a whole thread: a result that a later run recovers was already printed.
 */
export class RunPrinter {
  readonly #write: (text: string) => void;
  readonly #style: Style;
  readonly #texts = new Map<string, string>();
  readonly #calls = new Set<string>();
  readonly #results = new Set<string>();
  /** The text that each task has streamed. An unfinished last line is kept here. */
  readonly #textsByTask = new Map<string, string>();
  #isMidLine = false;
  readonly #tellsUsage: boolean;
  /** The token usage of the run that ends. */
  #usage: RunEndEvent["usage"];

  constructor({ write, style, tellsUsage = false }: RunPrinterOptions) {
    this.#write = write;
    this.#style = style;
    this.#tellsUsage = tellsUsage;
  }

  /** @returns the error of the run, if this part is one. */
  print({ event, data }: RunPart): string | undefined {
    // With subgraphs, the name is followed by a namespace.
    switch (event.split("|")[0]) {
      case "messages":
        if (Array.isArray(data)) this.#printStreamed(data[0], taskOf(data[1]));
        return undefined;
      case "updates":
        for (const message of messagesOf(data)) this.#printReturned(message);
        return undefined;
      case "custom":
        if (isAgentEvent(data) && data.type === "run-end") {
          this.#usage = data.usage;
          return undefined;
        }
        this.printLine(this.#style("yellow", `  · ${describeEvent(data)}`));
        return undefined;
      case "error":
        return errorOf(data);
      default:
        return undefined;
    }
  }

  printLine(line: string): void {
    this.endLine();
    this.#write(`${line}\n`);
  }

  endLine(): void {
    if (this.#isMidLine) this.#write("\n");
    this.#isMidLine = false;
  }

  /** Call this after the last part of a run. The response may arrive after the event with its tokens. */
  endRun(): void {
    this.endLine();
    if (this.#tellsUsage && this.#usage !== undefined) {
      this.printLine(this.#style("dim", `  ${describeUsage(this.#usage)}`));
    }
    this.#usage = undefined;
  }

  #printStreamed(message: Message | { type: "remove"; id?: string }, task: string): void {
    if (message.type === "tool") this.#printResult(message);
    if (message.type === "remove" && message.id !== undefined && this.#texts.delete(message.id)) {
      this.#textsByTask.delete(task);
      this.printLine(this.#style("dim", "  (the text so far was retracted)"));
    }
    if (message.type !== "ai") return;
    const id = message.id ?? task;
    const text = textOf(message);
    const byTask = this.#textsByTask.get(task) ?? "";
    // The node has returned the complete message under another id.
    const isRepeated = text !== "" && !this.#texts.has(id) && text === byTask;
    if (!isRepeated) this.#printText(text);
    this.#texts.set(id, (this.#texts.get(id) ?? "") + text);
    if (!isRepeated) this.#textsByTask.set(task, byTask + text);
  }

  #printReturned(message: Message): void {
    if (message.type !== "ai") return;
    const printed = this.#texts.get(message.id ?? "") ?? "";
    const text = textOf(message);
    if (!text.startsWith(printed)) this.endLine();
    this.#printText(text.startsWith(printed) ? text.slice(printed.length) : text);
    if (message.id !== undefined) this.#texts.set(message.id, text);
    this.endLine();
    this.#printCalls(message);
  }

  #printText(text: string): void {
    if (text === "") return;
    this.#write(text);
    this.#isMidLine = !text.endsWith("\n");
  }

  /** A message that a human has edited is sent again. Only the changes are printed. */
  #printCalls(message: AIMessage): void {
    for (const [index, { words }] of callsOf(message).entries()) {
      const key = `${message.id} ${index} ${words}`;
      if (!this.#calls.has(key)) this.printLine(this.#style("cyan", `  → ${words}`));
      this.#calls.add(key);
    }
  }

  #printResult(message: ToolMessage): void {
    // An event reports each placeholder.
    if (placeholderCauseOf(message) !== undefined) return;
    const text = textOf(message).replaceAll("\n", "\n    ");
    const key = message.id ?? `${message.tool_call_id} ${text}`;
    if (this.#results.has(key)) return;
    this.#results.add(key);
    const words = `${message.name ?? "tool"}: ${text}`;
    this.printLine(
      message.status === "error"
        ? this.#style("red", `  ✗ ${words}`)
        : `${this.#style("green", "  ←")} ${words}`,
    );
  }
}

/** A text belongs to the task of the node that streams it. */
function taskOf(metadata: unknown): string {
  if (typeof metadata !== "object" || metadata === null) return "";
  return "langgraph_checkpoint_ns" in metadata ? String(metadata.langgraph_checkpoint_ns) : "";
}

/** An update belongs to a node. It holds the node's name and what it wrote; a parallel node can write several times. */
function messagesOf(data: unknown): Message[] {
  if (typeof data !== "object" || data === null) return [];
  return Object.values(data)
    .flat()
    .flatMap((update: { messages?: Message | Message[] } | null) => update?.messages ?? []);
}

function errorOf(data: unknown): string {
  if (typeof data !== "object" || data === null) return String(data);
  return "message" in data ? String(data.message) : JSON.stringify(data);
}
