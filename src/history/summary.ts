/** A summary: a human message that stands for earlier messages and names them. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { z } from "zod";

/** The ecosystem's mark of a summary, in `additional_kwargs`. */
const SOURCE_KEY = "lc_source";
const SOURCE = "summarization";
const COVERAGE_KEY = "tether_coverage";

const coverageSchema = z.union([
  z.object({ kind: z.literal("keep"), messages: z.array(z.string()) }),
  z.object({ kind: z.literal("archive"), messages: z.array(z.string()), calls: z.array(z.string()) }),
]);

/**
 * What a summary covers, by message id. With `"keep"` the covered messages stay in the state before it. With
 * `"archive"` they leave the state in the write that brings the summary; `calls` are the ids of the calls that
 * left with them, so that a result that comes later still has a place.
 */
export type Coverage = z.infer<typeof coverageSchema>;

export function createSummary(text: string, coverage: Coverage): HumanMessage {
  return new HumanMessage({
    content: text,
    additional_kwargs: { [SOURCE_KEY]: SOURCE, [COVERAGE_KEY]: coverage },
  });
}

/** What the message covers; undefined for a message that is no summary, or one that does not name what it covers. */
export function coverageOf(message: BaseMessage): Coverage | undefined {
  const kwargs = message.additional_kwargs;
  if (message.type !== "human" || kwargs?.[SOURCE_KEY] !== SOURCE) return undefined;
  return coverageSchema.safeParse(kwargs[COVERAGE_KEY]).data;
}
