/** Prints what a run does, while it does it. */

import type { AIMessage, Message, ToolMessage } from "@langchain/langgraph-sdk";
import type { RunEndEvent } from "../../src/nodes/run/agent-event.js";
import { callsOf, placeholderCauseOf, textOf } from "./describe.js";
import { describeEvent, describeUsage, isAgentEvent } from "./describe-event.js";
import type { Style } from "./style.js";

/** One part of a run's stream, of the modes `messages-tuple`, `updates` and `custom`. */
export interface RunPart {
  readonly event: string;
  readonly data: unknown;
}

export interface RunPrinterOptions {
  /** Contract: appends to the output; must not throw. */
  readonly write: (text: string) => void;
  readonly style: Style;
  /** Whether the end of a run tells the tokens that it cost. @default false */
  readonly tellsUsage?: boolean;
}

export const RUN_STREAM_MODES = ["messages-tuple", "updates", "custom"] as const;

/**
 * Prints each text, call and result once. Chunks and whole messages look alike on the wire, so what was printed is
 * remembered by message id: a message that the node returns in the end brings only what its chunks have not.
 * One printer serves a whole thread: a result that is recovered by a later run was printed before.
 */
export class RunPrinter {
  readonly #write: (text: string) => void;
  readonly #style: Style;
  readonly #texts = new Map<string, string>();
  readonly #calls = new Set<string>();
  readonly #results = new Set<string>();
  /** The text that each task has streamed, and whether the last line is unfinished. */
  readonly #textsByTask = new Map<string, string>();
  #isMidLine = false;
  readonly #tellsUsage: boolean;
  /** Of the run that ends. */
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

  /** To be called after the last part of a run: the answer may come after the event that tells of its tokens. */
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
      this.printLine(this.#style("dim", "  (the text so far was taken back)"));
    }
    if (message.type !== "ai") return;
    const id = message.id ?? task;
    const text = textOf(message);
    const byTask = this.#textsByTask.get(task) ?? "";
    // The node has given the message another id, and returned it whole.
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

  /** A message that a human has edited comes again: only what was changed is printed. */
  #printCalls(message: AIMessage): void {
    for (const [index, { words }] of callsOf(message).entries()) {
      const key = `${message.id} ${index} ${words}`;
      if (!this.#calls.has(key)) this.printLine(this.#style("cyan", `  → ${words}`));
      this.#calls.add(key);
    }
  }

  #printResult(message: ToolMessage): void {
    // An event tells of a placeholder.
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

/** A text belongs to the task of a node that streams it. */
function taskOf(metadata: unknown): string {
  if (typeof metadata !== "object" || metadata === null) return "";
  return "langgraph_checkpoint_ns" in metadata ? String(metadata.langgraph_checkpoint_ns) : "";
}

/** An update is of a node: its name, and what it wrote; a parallel node may write several times. */
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
