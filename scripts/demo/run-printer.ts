/** Prints what a run does while it runs. */

import type { AIMessage, Message } from "@langchain/langgraph-sdk";
import { isRecord, recordsIn } from "../../src/shared/values.js";
import { callsOf, placeholderCauseOf, textOf } from "./describe.js";
import type { Page } from "./page.js";

/** One part of a run's stream, in these modes. */
export interface RunPart {
  readonly event: string;
  readonly data: unknown;
}

export const RUN_STREAM_MODES = ["messages-tuple", "updates", "custom"] as const;

/**
 * Prints each response with its calls when it is complete, each result when its tool has returned, and each event. One
 * printer serves a whole thread: a result that a later run recovers was already printed.
 */
export class RunPrinter {
  readonly #page: Pick<Page, "line" | "style">;
  readonly #results = new Set<string>();

  constructor(page: Pick<Page, "line" | "style">) {
    this.#page = page;
  }

  /** @returns the error of the run, if this part is one. */
  print({ event, data }: RunPart): string | undefined {
    switch (event) {
      case "messages":
        // A part is a message with its metadata. Results come here before the other calls of their response have ended.
        if (Array.isArray(data)) this.#printResult(data[0]);
        return undefined;
      case "updates":
        for (const message of messagesOf(data)) if (message.type === "ai") this.#printResponse(message);
        return undefined;
      case "custom":
        this.#printEvent(data);
        return undefined;
      case "error":
        return isRecord(data) ? String(data["message"]) : String(data);
      default:
        return undefined;
    }
  }

  #printResponse(message: AIMessage): void {
    const { line, style } = this.#page;
    const text = textOf(message);
    if (text !== "") line(text);
    for (const { words } of callsOf(message)) line(style("cyan", `  → ${words}`));
  }

  #printResult(message: Message): void {
    // An event reports each placeholder.
    if (message.type !== "tool" || placeholderCauseOf(message) !== undefined) return;
    if (this.#results.has(message.tool_call_id)) return;
    this.#results.add(message.tool_call_id);
    const { line, style } = this.#page;
    const words = `${message.name ?? "tool"}: ${textOf(message)}`;
    line(message.status === "error" ? style("red", `  ✗ ${words}`) : `${style("green", "  ←")} ${words}`);
  }

  #printEvent(data: unknown): void {
    const words = describeEvent(data);
    if (words !== undefined) this.#page.line(this.#page.style("yellow", `  · ${words}`));
  }
}

/** The events of the scenes. Another one is not expected, and shown as it is. */
function describeEvent(data: unknown): string | undefined {
  const { type, tool, cause } = Object(data);
  if (type === "run-end") return undefined;
  if (type === "result-recovered") return `${tool}: its result was recovered from the earlier run`;
  if (type === "call-closed" && cause === "superseded")
    return `${tool}: closed without a result, because a new message came before it finished`;
  return JSON.stringify(data);
}

/** An update holds what each node wrote. */
function messagesOf(data: unknown): Message[] {
  const updates = isRecord(data) ? Object.values(data) : [];
  return updates.flatMap((update) => recordsIn(Object(update).messages) as unknown as Message[]);
}
