/** The page with the list of threads. */

import { worthALook } from "../../doctor/finding.js";
import { amount, count } from "../../shared/text.js";
import { type ListQuery, THREAD_STATUSES, TRAITS } from "../view/query.js";
import type { ListView } from "../view/read-threads.js";
import {
  chip,
  codeSpans,
  joinedFirst,
  layout,
  listJsonLink,
  listLink,
  options,
  outcomeChip,
  part,
  statusChip,
  threadLink,
  time,
} from "./layout.js";
import { html, type Markup } from "./markup.js";

/** The page `/tether`. */
export function listPage(view: ListView, now: number): Markup {
  const { threads, q, status, has, graph, sort, page, hasNext, searched, knowsRuns } = view;
  const chosen = { q, status, has, graph, sort };
  const link: LinkWith = (more) => listLink({ ...chosen, ...more });
  const isChosen = [q, status, has, graph].some(Boolean);
  const nothing = page > 1 ? `There is no page ${count(page)}.` : isChosen ? NONE_FOUND : NONE;
  const busy = knowsRuns && threads.some(({ report }) => report.status === "busy");
  const shown = threads.length === 0 ? html`<p class="panel">${nothing}</p>` : table(view, link, now);
  const traits = has === undefined || TRAITS.some((one) => one === has) ? TRAITS : [...TRAITS, has];
  return layout({
    title: "Threads",
    heading: html`<h1>Threads</h1>`,
    body: html`
<form class="panel" action="${listLink()}" method="get" role="search" aria-label="Threads">
<label>Search<input type="search" name="q" value="${q}" size="34" aria-describedby="search-help"></label>
<label>Status<select name="status"><option value="">any</option>${options(THREAD_STATUSES, status)}</select></label>
<label>With<select name="has"><option value="">anything</option>${traits.map((one) => html`<option value="${one}"${one === has && html` selected`}>${one.replace("-", " ")}</option>`)}</select></label>
<label>Graph<input name="graph" value="${graph}" size="12"></label>
<button type="submit">Search</button>
<p class="small soft" id="search-help">A part of a message, of an id or of the metadata, or <code>key=value</code> of the metadata. A finding in the list leads to all threads that have it.</p>
</form>
${searched !== null && html`<p class="small soft">Only the ${count(searched)} threads that were ${sort === "created" ? "made" : "changed"} last were searched.</p>`}
${part(shown, busy)}
<nav class="pages" aria-label="Pages">
${page > 1 && html`<a href="${link({ page: page - 1 })}" rel="prev">Later threads</a>`}
${hasNext && html`<a href="${link({ page: page + 1 })}" rel="next">Earlier threads</a>`}
<span class="soft">Page ${count(page)}${view.count !== undefined && ` of ${amount(view.count, "thread")}`}</span>
<a href="${link({ page })}">Reload</a>
<a href="${listJsonLink({ ...chosen, page })}">JSON</a>
</nav>`,
  });
}

type LinkWith = (more: ListQuery) => string;

const NONE = "There are no threads yet.";
const NONE_FOUND = "No thread was found.";

function table({ threads, knowsRuns, sort }: ListView, link: LinkWith, now: number): Markup {
  const isByAge = sort === "created";
  const column = (name: string, order: "changed" | "created") =>
    isByAge === (order === "created")
      ? html`<th scope="col" aria-sort="descending">${name}</th>`
      : html`<th scope="col"><a href="${link({ sort: order })}">${name}</a></th>`;
  return html`<table class="threads">
<caption class="hidden">Threads, the one that was ${isByAge ? "made" : "changed"} last first</caption>
<thead><tr><th scope="col">Thread</th><th scope="col">Status</th><th scope="col">Doctor</th><th scope="col" class="number">Messages</th><th scope="col" class="number">Tokens</th>${column("Changed", "changed")}${column("Begun", "created")}</tr></thead>
<tbody>${threads.map((thread) => line(thread, knowsRuns, link, now))}</tbody>
</table>`;
}

/** The most codes of findings in one line. */
const MOST_CODES = 3;

function line(
  {
    title,
    graph,
    updatedAt,
    createdAt,
    tokens,
    lastRepair,
    openCalls,
    stopped,
    report,
  }: ListView["threads"][number],
  knowsRuns: boolean,
  link: LinkWith,
  now: number,
): Markup {
  const { threadId, status, outcome, messages, findings } = report;
  const worth = worthALook(findings);
  const codes = new Set(findings.flatMap(({ code, severity }) => (severity === "info" ? [] : code)));
  const links = [...codes].map((code) => html`<a href="${link({ has: code })}">${code}</a>`);
  return html`<tr>
<th scope="row"><a class="title" href="${threadLink(threadId)}"><bdi>${title === "" ? threadId : title}</bdi></a>${title !== "" && html`<span class="mono">${threadId}</span>`}${graph !== "" && html`<a class="small" href="${link({ graph })}"><bdi>${graph}</bdi></a>`}</th>
<td data-label="Status">${statusChip(status, knowsRuns)}${stopped !== null && chip("stopped early", "warning")}</td>
<td data-label="Doctor">${(outcome !== "sound" || openCalls === 0) && outcomeChip(outcome, worth)}${openCalls > 0 && chip(amount(openCalls, "open call"), "warning")}${lastRepair !== null && chip(lastRepair.mark.word, lastRepair.mark.tone)}${links.length > 0 && html`<span class="small codes">${joinedFirst(links, MOST_CODES)}</span>`}</td>
<td data-label="Messages" class="number">${messages === null ? "unknown" : count(messages)}</td>
<td data-label="Tokens" class="number">${tokens > 0 ? count(tokens) : html`<span class="soft small">unknown</span>`}</td>
<td data-label="Changed" class="small">${time(updatedAt, now)}</td>
<td data-label="Begun" class="small">${time(createdAt, now)}</td>
</tr>`;
}

/** A page that says what is wrong in one sentence. */
export function errorPage(title: string, text: string): Markup {
  return layout({
    title,
    heading: html`<h1>${title}</h1>`,
    body: html`<div class="panel"><p>${codeSpans(text)}</p><p><a href="${listLink()}">All threads</a></p></div>`,
  });
}
