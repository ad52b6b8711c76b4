/** What a request asks for. A value that cannot be used counts as missing, because a reader may have typed it. */

import type { HonoRequest } from "hono";
import type { Chosen } from "./html/thread-page.js";
import { type ListQuestion, THREAD_STATUSES } from "./reading/read-list.js";
import type { ThreadQuestion } from "./reading/read-thread.js";
import { isDialectName } from "./view/soundness.js";

const LONGEST_QUERY = 200;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function listQuestionOf(request: HonoRequest): ListQuestion {
  const status = request.query("status") ?? "";
  return {
    query: (request.query("q") ?? "").trim().slice(0, LONGEST_QUERY),
    status: THREAD_STATUSES.some((known) => known === status) ? status : "",
    page: countIn(request.query("page")) ?? 1,
  };
}

export function chosenIn(request: HonoRequest): Chosen & Pick<ThreadQuestion, "dialect"> {
  const step = request.query("step");
  const dialect = request.query("dialect");
  return {
    step: step !== undefined && UUID.test(step) ? step : undefined,
    dialect: isDialectName(dialect) ? dialect : undefined,
    maxTokens: countIn(request.query("maxTokens")),
  };
}

export function threadQuestionOf(
  request: HonoRequest,
  threadId: string,
): ThreadQuestion & { readonly page: number | undefined } {
  return { threadId, ...chosenIn(request), page: countIn(request.query("page")) };
}

function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
