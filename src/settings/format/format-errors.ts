/** What is wrong with a structured response. LangChain's errors of these names have the same fields and messages. */

import { TetherError } from "../../errors.js";

/** A structured response that does not match its schema. */
export class StructuredOutputParsingError extends TetherError {
  override readonly name = "StructuredOutputParsingError";
  /** The name of the format. */
  readonly toolName: string;
  /** What is wrong. Each entry names the field. */
  readonly errors: readonly string[];

  constructor(toolName: string, errors: readonly string[]) {
    const list = errors.map((error) => `\n  - ${error}`).join("");
    super("RESPONSE_NOT_IN_FORMAT", `Failed to parse structured output for tool '${toolName}':${list}.`);
    this.toolName = toolName;
    this.errors = errors;
  }
}

/** Several structured responses in one response of the model. */
export class MultipleStructuredOutputsError extends TetherError {
  override readonly name = "MultipleStructuredOutputsError";
  /** The names of the formats, one for each call. */
  readonly toolNames: readonly string[];

  constructor(toolNames: readonly string[]) {
    super(
      "RESPONSE_NOT_IN_FORMAT",
      `The model has called multiple tools: ${toolNames.join(", ")} to return a structured output. This is not supported. Please provide a single structured output.`,
    );
    this.toolNames = toolNames;
  }
}
