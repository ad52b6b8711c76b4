import { html } from "hono/html";
import { nameIn } from "../view/message-view.js";
import { DIALECT_NAMES } from "../view/soundness.js";
import type { Step } from "../view/steps.js";
import type { MarkPlaces, StepDifference, ThreadView } from "../view/thread-view.js";
import { findingsPanel } from "./findings.js";
import { type Html, layout } from "./layout.js";
import { type ThreadLink, threadJsonLink, threadLink } from "./links.js";
import { messageBody, messageHead } from "./message-cell.js";
import { chip, outcomeChip, soundnessList, statusChip, worthALook } from "./parts.js";
import { rowsOf } from "./rows.js";
import { amount, count, timeText } from "./words.js";

/** What the reader chose, for the links of the page. */
export interface Chosen {
  readonly step: string | undefined;
  readonly dialect: string | undefined;
  readonly maxTokens: number | undefined;
}

/** The page `/tether/threads/:id`. */
export function threadPage(view: ThreadView, chosen: Chosen, hidesPrompt: boolean): Html {
  const { threadId, title, page, marks, report, rows, totals, difference } = view;
  const link = (more: ThreadLink) => threadLink(threadId, { ...chosen, ...more });
  const name = title === "" ? threadId : title;
  return layout({
    title: name,
    heading: html`<h1><bdi>${name}</bdi></h1>${statusChip(report.status)}`,
    body: html`
<section class="panel" aria-label="The step">${choices(view, chosen)}${facts(view, hidesPrompt)}</section>
${findingsPanel(report.findings, (index) => linkToRow(view, link, index))}
${marks.length === 0 ? "" : marksPanel(marks, link)}
${difference === undefined ? "" : differencePanel(difference, link)}
<section aria-label="Messages">
${pages(view, link, "Pages of messages")}
<div class="columns"><h2>Stored <span>${amount(totals.stored, "message")}</span></h2><h2>Sent <span>${amount(totals.sent, "message")}, about ${amount(totals.tokens, "token")}</span></h2></div>
${rows.length === 0 ? html`<p class="rows cell">There are no messages.</p>` : rowsOf(rows, (place) => linkToPlace(view, link, place))}
${pages(view, link, "Pages of messages, repeated")}
</section>
<p class="pages"><span class="mono small soft">${threadId}</span><a href="${threadJsonLink(threadId, { ...chosen, page: page.number })}">JSON</a></p>`,
  });
}

const stepName = ({ number, at, next, messages }: Step): string =>
  [
    number === null ? "step" : `step ${number}`,
    next.length === 0 ? "end" : `then ${next.join(", ")}`,
    amount(messages, "message"),
    ...(at === null ? [] : [timeText(at)]),
  ].join(" · ");

function choices({ steps, step, threadId, form }: ThreadView, chosen: Chosen): Html {
  const option = (entry: Step) =>
    html`<option value="${entry.checkpointId}"${entry.checkpointId === step?.checkpointId ? html` selected` : ""}>${stepName(entry)}</option>`;
  const group = (label: string, entries: readonly Step[]) =>
    entries.length === 0 ? "" : html`<optgroup label="${label}">${entries.map(option)}</optgroup>`;
  const earliest = steps.at(-1);
  return html`<form action="${threadLink(threadId)}" method="get">
<label>Step<select name="step">${group(
    "The model is asked",
    steps.filter(({ asksModel }) => asksModel),
  )}${group(
    "Other checkpoints",
    steps.filter(({ asksModel }) => !asksModel),
  )}</select></label>
<label>Dialect<select name="dialect"><option value="">${chosen.dialect === undefined ? `${form.options.dialect} (${ORIGINS[form.origin]})` : "of the step"}</option>${DIALECT_NAMES.map(
    (name) => html`<option value="${name}"${name === chosen.dialect ? html` selected` : ""}>${name}</option>`,
  )}</select></label>
<label>Token limit<input type="number" name="maxTokens" min="1" step="1" size="8" value="${chosen.maxTokens ?? ""}"></label>
<button type="submit">Show</button>
${earliest === undefined || earliest.checkpointId === step?.checkpointId ? "" : html`<a class="small" href="${threadLink(threadId, { ...chosen, step: earliest.checkpointId })}">Earlier steps</a>`}
</form>`;
}

const ORIGINS: Readonly<Record<ThreadView["form"]["origin"], string>> = {
  chosen: "chosen",
  response: "of the step's response",
  thread: "of the latest response",
  server: "of the server's model",
  unknown: "every provider",
};

function facts(view: ThreadView, hidesPrompt: boolean): Html {
  const { totals, step, difference, report, brokenInRequest, soundness, form } = view;
  const response = step?.response ?? undefined;
  const asked = response !== undefined ? "was sent" : "would be sent";
  const parts = [
    `${count(totals.leftOut)} left out`,
    `${count(totals.changed)} changed`,
    `${count(totals.added)} added`,
  ].join(", ");
  return html`<dl class="facts">
${fact(`What ${asked}`, html`${amount(totals.sent, "message")} <span class="soft">of ${count(totals.stored)} stored: ${parts}</span>`)}
${fact("Tokens", html`about ${count(totals.tokens)}${response?.inputTokens == null ? "" : html` <span class="soft">the provider counted ${count(response.inputTokens)}${response.cachedTokens === null ? "" : `, ${count(response.cachedTokens)} of them from its cache`}</span>`}`)}
${fact("Prompt-cache prefix", prefixText(difference))}
${fact("The request", brokenInRequest === 0 ? html`${chip("sound", "good")} <span class="soft">for ${form.options.dialect}</span>` : html`${chip(amount(brokenInRequest, "broken rule"), "bad")} <span class="soft">of ${form.options.dialect}</span>`)}
${fact("The thread", html`${outcomeChip(report.outcome, worthALook(report.findings))} <span class="soft">by the doctor</span>`)}
${response === undefined ? "" : fact("Response by", html`<bdi>${[response.provider, response.model].map(nameIn).filter(Boolean).join(" · ") || "unknown"}</bdi>`)}
${fact("System prompt", form.options.systemPrompt === undefined ? html`<span class="soft">${hidesPrompt ? "the server's is not shown to users" : "none"}</span>` : html`<span class="soft">shown as sent</span>`)}
${fact("If it were sent as stored", soundnessList(soundness))}
</dl>`;
}

const fact = (name: string, value: Html): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

function prefixText(difference: StepDifference | undefined): Html {
  if (difference === undefined) return html`<span class="soft">there is no request before</span>`;
  const { isPrefixKept, prefix } = difference;
  return isPrefixKept
    ? html`${chip("kept", "good")} <span class="soft">the first ${amount(prefix, "message")}</span>`
    : html`${chip("broken", "warning")} <span class="soft">after ${amount(prefix, "message")}</span>`;
}

function differencePanel(
  { to, counts, goneMessages, gone }: StepDifference,
  link: (more: ThreadLink) => string,
): Html {
  const words = [
    `${count(counts.new)} new`,
    `${count(counts.changed)} changed`,
    `${count(counts.gone)} not sent any more`,
  ].join(", ");
  return html`<section class="panel"><h2>Since the request before</h2>
<p>${words}, ${count(counts.same)} the same. <a href="${link({ step: to.checkpointId })}">Show ${to.number === null ? "it" : `step ${to.number}`}</a></p>
${
  goneMessages.length === 0
    ? ""
    : html`<details><summary>${amount(gone.length, "message")} not sent any more</summary><ul class="gone">${goneMessages.map(
        ({ position, message }) =>
          html`<li>${messageHead(position, message, [])}${messageBody(message)}</li>`,
      )}</ul></details>`
}</section>`;
}

function marksPanel(marks: readonly MarkPlaces[], link: (more: ThreadLink) => string): Html {
  return html`<section class="panel"><h2 class="hidden">Marks</h2><ul class="marks">${marks.map(
    ({ mark, count: total, places }) =>
      html`<li>${chip(mark.word, mark.tone)}<span class="small">${places.map(
        ({ page, anchor, label }, index) =>
          html`${index === 0 ? "" : ", "}<a href="${link({ page })}#${anchor}">${label}</a>`,
      )}${total > places.length ? html` <span class="soft">and ${count(total - places.length)} more</span>` : ""}</span></li>`,
  )}</ul></section>`;
}

/** @param label What tells the two lists of links apart for a screen reader. */
function pages({ page, step }: ThreadView, link: (more: ThreadLink) => string, label: string): Html | string {
  if (page.count === 1) return "";
  const { number, count: total, start, end } = page;
  const to = (wanted: number, text: string) =>
    wanted === number || wanted < 1 || wanted > total
      ? ""
      : html`<a href="${link({ page: wanted, step: step?.checkpointId })}">${text}</a>`;
  return html`<nav class="pages" aria-label="${label}"><span>Rows ${count(start + 1)} to ${count(end)}, page ${count(number)} of ${count(total)}</span>${to(1, "First")}${to(number - 1, "Earlier")}${to(number + 1, "Later")}${to(total, "Last")}</nav>`;
}

const linkToRow = (view: ThreadView, link: (more: ThreadLink) => string, index: number): string =>
  linkToPlace(view, link, `stored-${index + 1}`);

function linkToPlace({ pageOfPlace }: ThreadView, link: (more: ThreadLink) => string, place: string): string {
  return `${link({ page: pageOfPlace(place) })}#${place}`;
}
