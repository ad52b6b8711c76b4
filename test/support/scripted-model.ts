/**
 * A chat model that plays a script of responses, one for each request. It refuses a history that a provider would
 * refuse.
 */

import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { onTestFinished } from "vitest";
import { PlayedModel, type PlayOptions, wholeChunk } from "./models.js";
import { strictViolations } from "./strict-check.js";

/** A text, a message, the chunks of a stream, or an error of the provider. */
export type Step = string | AIMessage | readonly AIMessageChunk[] | Error;

/** A request to the model. */
export interface Request {
  readonly messages: readonly BaseMessage[];
  readonly toolNames: readonly string[];
  readonly toolChoice: unknown;
}

export class ScriptedModel extends PlayedModel {
  readonly requests: Request[] = [];
  readonly #steps: readonly Step[];

  constructor(steps: readonly Step[]) {
    super();
    this.#steps = steps;
  }

  /** Requests beyond the end of the script, steps that were not played, and each refused history. */
  violations(): string[] {
    const played = this.requests.length;
    const refused = this.requests.flatMap(({ messages }) => strictViolations(messages));
    if (played === this.#steps.length) return refused;
    return [
      ...refused,
      `the model was asked ${played} times, and its script has ${this.#steps.length} steps`,
    ];
  }

  protected override async play(
    messages: readonly BaseMessage[],
    options: PlayOptions,
  ): Promise<readonly AIMessageChunk[]> {
    const step = this.#steps[this.requests.length];
    this.requests.push({
      messages: [...messages],
      toolNames: options.toolNames ?? [],
      toolChoice: options.tool_choice,
    });
    const [violation] = strictViolations(messages);
    if (violation !== undefined) throw new Error(`400 Bad history: ${violation}`);
    if (step === undefined) throw new Error("The scripted model has no step left for this request.");
    if (step instanceof Error) throw step;
    if (typeof step === "string")
      return step.split(/(?<= )/).map((content) => new AIMessageChunk({ content }));
    if (step instanceof AIMessage) return [wholeChunk(step)];
    return step;
  }
}

/** A model for one test. The test fails if it did not play exactly the script. */
export function scripted(...steps: readonly Step[]): ScriptedModel {
  const model = new ScriptedModel(steps);
  onTestFinished(() => {
    const violations = model.violations();
    if (violations.length > 0) throw new Error(violations.join("\n"));
  });
  return model;
}
