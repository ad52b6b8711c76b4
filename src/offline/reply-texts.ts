/** The sentences of the offline model. */

import type { ToolMessage } from "@langchain/core/messages";
import type { PlannedCall } from "./find-calls.js";
import type { Round } from "./read-turn.js";

const MAX_RESULT_LENGTH = 1000;

/** Makes a sentence of a tool's result. The result of any other tool is introduced by the tool's name. */
const WORDINGS: ReadonlyMap<string, (content: string, call: PlannedCall) => string> = new Map([
  ["calculator", (content, { args }) => `${args.input} = ${content}`],
  ["current_time", (content) => content],
  ["weather", (content) => content],
  ["save_note", (content) => content],
  ["search_notes", (content) => content],
]);

/** States every result of the turn, in call order. */
export function stateResults(rounds: readonly Round[]): string {
  const sentences = rounds.flatMap(({ calls, results }) =>
    results.flatMap((result, position) => {
      const call = calls[position];
      return call === undefined ? [] : [stateResult(call, result)];
    }),
  );
  if (sentences.length < 2) return sentences.join("");
  return `Here is what the tools returned:\n${sentences.map((sentence) => `- ${sentence}`).join("\n")}`;
}

function stateResult(call: PlannedCall, result: ToolMessage): string {
  const content = shorten(result.text.trim()) || "(no output)";
  if (result.status === "error")
    return content.includes(call.name) ? content : `${call.name} failed: ${content}`;
  return WORDINGS.get(call.name)?.(content, call) ?? `${call.name} returned: ${content}`;
}

export function introduce(toolNames: readonly string[]): string {
  return [
    "I am the offline model: a small set of rules, not a language model.",
    toolNames.length === 0
      ? "No tools are available to me here."
      : `I can call these tools: ${toolNames.join(", ")}. ` +
        'Ask for several things at once ("What is 12*(3+4), and what time is it in Tokyo?"), ' +
        'in steps ("calculate 6*7 then save a note: the answer is 42"), ' +
        `or call a tool by its name ("call ${toolNames[0]} {…}" with its arguments as JSON).`,
    "For a real model, set MODEL=openai:gpt-4o-mini and OPENAI_API_KEY in the environment.",
  ].join(" ");
}

function shorten(text: string): string {
  const characters = [...text];
  return characters.length > MAX_RESULT_LENGTH ? `${characters.slice(0, MAX_RESULT_LENGTH).join("")}…` : text;
}
