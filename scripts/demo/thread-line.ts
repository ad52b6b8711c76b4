import type { Message } from "@langchain/langgraph-sdk";
import { callsOf, placeholderCauseOf, textOf } from "./describe.js";
import type { Style } from "./page.js";

export interface ThreadLineOptions {
  readonly style: Style;
  readonly width: number;
  /** A remark on a result that its content does not show, such as "recovered". @default none */
  readonly remarkOn?: (message: Message) => string | undefined;
}

const NUMBER_WIDTH = 3;
const ROLE_WIDTH = 5;
const GAP = "  ";

/** A message in one line: its number, its role, its text or tool calls, and the status of a result. */
export function threadLine(
  message: Message,
  number: number | undefined,
  { style, width, remarkOn }: ThreadLineOptions,
): string {
  const status = message.type === "tool" ? (remarkOn?.(message) ?? statusOf(message)) : "";
  const indent = message.type === "tool" ? GAP : "";
  const room =
    width - NUMBER_WIDTH - ROLE_WIDTH - 2 * GAP.length - indent.length - status.length - GAP.length;
  const content = toLine(contentOf(message), room);
  return [
    style("dim", String(number ?? "").padStart(NUMBER_WIDTH)),
    style("bold", message.type.padEnd(ROLE_WIDTH)),
    indent + (status === "" ? content : content.padEnd(room)),
    ...(status === "" ? [] : [style(colourOf(message), status)]),
  ].join(GAP);
}

function contentOf(message: Message): string {
  if (message.type === "tool") return `${message.name ?? "tool"}: ${textOf(message)}`;
  if (message.type !== "ai") return textOf(message);
  const calls = callsOf(message).map(({ words }) => `→ ${words}`);
  return [textOf(message), ...calls].filter((part) => part !== "").join(GAP);
}

function statusOf(message: Message): string {
  const cause = placeholderCauseOf(message);
  if (cause !== undefined) return `placeholder: ${cause}`;
  return hasFailed(message) ? "error" : "ok";
}

function colourOf(message: Message): "yellow" | "red" | "green" {
  if (placeholderCauseOf(message) !== undefined) return "yellow";
  return hasFailed(message) ? "red" : "green";
}

function hasFailed(message: Message): boolean {
  return message.type === "tool" && message.status === "error";
}

/** One line of at most `width` characters. */
function toLine(text: string, width: number): string {
  const characters = [...text.replace(/\s+/gu, " ").trim()];
  return characters.length <= width ? characters.join("") : `${characters.slice(0, width - 1).join("")}…`;
}
