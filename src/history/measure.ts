/**
 * How long a model input is. Every decision by length, and every length that is shown, comes from here.
 *
 * A provider reports its token count with each response. So the length is the latest report, plus an estimate of what
 * came since. The thread's ratio of reported to estimated tokens corrects the estimate. Without any report, the length
 * is the estimate.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { filterToolCalls, type ToolCallsToKeep } from "./cut.js";
import { type Survey, surveyOf, type UsageReport } from "./open-calls.js";
import { countTokens } from "./size.js";
import { coverageOf } from "./summary.js";
import { flattenVisible, visibleHistory } from "./visible-history.js";

export interface InputOverhead {
  /** The tokens of the tools' schemas, by our estimate. They are part of every request, like the system prompt. */
  readonly toolTokens: number;
  readonly promptTokens: number;
  /** How many calls of earlier turns are sent; undefined sends all. */
  readonly maxToolCalls: ToolCallsToKeep | undefined;
  /**
   * Contract: returns the index of the first message that the model reads. The provider has compacted the others
   * itself. Undefined: the model reads all.
   */
  readonly compactedAt?: ((messages: readonly BaseMessage[]) => number) | undefined;
  /**
   * Contract: whether the model that is asked may have written a response. Another model counts differently. Undefined:
   * all count.
   */
  readonly mayHaveWritten?: ((response: BaseMessage) => boolean) | undefined;
}

export interface InputLength {
  /** The whole request's tokens, as the provider counts them. Not rounded, so that a bound does not move with it. */
  readonly tokens: number;
  /** Whether they come from a report and what followed it. */
  readonly isReported: boolean;
  /** How many tokens the provider counts for each estimated one. */
  readonly ratio: number;
}

/** A report below this share of the estimate belongs to another, shorter input. */
const LEAST_PLAUSIBLE = 0.2;

/** The length of this history's model input, with the system prompt and the tools. */
export function measureInput(history: readonly BaseMessage[], overhead: InputOverhead): InputLength {
  const { toolTokens, promptTokens, maxToolCalls, compactedAt } = overhead;
  const survey = surveyOf(history);
  const all = isWholeInput(history, survey) ? history : flattenVisible(visibleHistory(history));
  const cut = compactedAt?.(all) ?? 0;
  const visible = cut === 0 ? all : all.filter(({ type }, index) => index >= cut || type === "system");
  const input = maxToolCalls === undefined ? visible : filterToolCalls(visible, maxToolCalls);
  const ratio = ratioOf(survey, overhead);
  const { tokens, reports } =
    input === history ? survey : lengthOf(input, history, survey, cut === 0 ? undefined : all[cut]);
  const estimate = toolTokens + promptTokens + tokens;
  const report = reports.findLast((one) => isComparable(one, overhead));
  const since = tokens - (report?.until ?? 0);
  const isReported = report !== undefined && report.usage >= (estimate - since) * LEAST_PLAUSIBLE;
  return {
    tokens: isReported ? report.usage + since * ratio : estimate * ratio,
    isReported,
    ratio,
  };
}

function isComparable({ response, isShortened }: UsageReport, { mayHaveWritten }: InputOverhead): boolean {
  return !isShortened && (mayHaveWritten?.(response) ?? true);
}

/** Whether the model sees each message of the history, in the same order. */
export function isWholeInput(
  history: readonly BaseMessage[],
  { odd, summaries, paired, systems, leadingSystems }: Survey,
): boolean {
  return odd === 0 && summaries === 0 && systems === leadingSystems && paired === history.length;
}

/** The tokens of an input that is not the whole history, and its reports. */
function lengthOf(
  input: readonly BaseMessage[],
  history: readonly BaseMessage[],
  survey: Survey,
  compacted: BaseMessage | undefined,
): { readonly tokens: number; readonly reports: readonly UsageReport[] } {
  // A message with fewer calls than the history's is a copy, and its report is another input's. So is the report of the
  // response in which the provider compacted what was before.
  const trusted = new Set(history.slice(lastSummarised(history) + 1));
  const own = new Map(survey.reports.map((report) => [report.response, report]));
  const reports: UsageReport[] = [];
  let tokens = 0;
  for (const message of input) {
    tokens += countTokens(message);
    const report = own.get(message);
    if (report !== undefined && message !== compacted && trusted.has(message))
      reports.push({ ...report, until: tokens });
  }
  return { tokens, reports };
}

/** The position of the message that was last when the latest summary was made; -1 if there is no summary. */
function lastSummarised(history: readonly BaseMessage[]): number {
  const summary = history.findLast((message) => coverageOf(message) !== undefined);
  if (summary === undefined) return -1;
  const asOf = coverageOf(summary)?.asOf;
  const position = history.findLastIndex((message) => message.id === asOf);
  // That message is gone, so nothing says which responses are older. None is trusted.
  return position < 0 ? history.length : position;
}

/*
 * The ratio of reported to estimated tokens.
 */

/** The latest reports say most about what comes next, and about how the model counts now. */
const MOST_REPORTS = 12;
/** The range of a ratio. Others belong to inputs that something else has shortened or extended. */
const LEAST_RATIO = 0.25;
const MOST_RATIO = 4;
/** This many tokens are added with a ratio of 1, so that a few reports change the estimate only a little. */
const ASSUMED = 50;
/** A shorter first request says little, because providers add their own tokens to each. */
const LEAST_FIRST = 1_000;

/**
 * From one report to the next, the input grows by the messages between them. What all requests share, such as the tools
 * and what middleware adds, plays no part.
 */
function ratioOf({ reports, summaries }: Survey, overhead: InputOverhead): number {
  let reported = ASSUMED;
  let estimated = ASSUMED;
  let later: UsageReport | undefined;
  const add = (counted: number, tokens: number): void => {
    if (tokens <= 0 || counted < tokens * LEAST_RATIO || counted > tokens * MOST_RATIO) return;
    reported += counted;
    estimated += tokens;
  };
  for (let place = reports.length - 1, left = MOST_REPORTS; place >= 0 && left > 0; place -= 1) {
    const report = reports[place];
    if (report === undefined || !isComparable(report, overhead)) continue;
    left -= 1;
    // Leaving out calls of earlier turns changes the input from turn to turn.
    const isSameForm = overhead.maxToolCalls === undefined || later?.turn === report.turn;
    if (later !== undefined && isSameForm) add(later.input - report.input, later.before - report.before);
    later = report;
  }
  const first = later !== undefined && later === reports[0] && summaries === 0 ? later : undefined;
  const whole = overhead.toolTokens + overhead.promptTokens + (first?.before ?? 0);
  if (first !== undefined && whole >= LEAST_FIRST) add(first.input, whole);
  return Math.min(Math.max(reported / estimated, LEAST_RATIO), MOST_RATIO);
}
