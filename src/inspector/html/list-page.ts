import { worthALook } from "../../doctor/finding.js";
import { amount, count } from "../../shared/text.js";
import { type ListView, THREAD_STATUSES, TRAITS } from "../read-threads.js";
import {
  chip,
  codeSpans,
  layout,
  listJsonLink,
  listLink,
  options,
  outcomeChip,
  statusChip,
  threadLink,
  time,
} from "./layout.js";
import { html, type Markup } from "./markup.js";

/** The page `/tether`. */
export function listPage(view: ListView, now: number): Markup {
  const { threads, query, status, has, page, hasNext, searched, knowsRuns } = view;
  const link = (number: number) => listLink({ q: query, status, has, page: number });
  return layout({
    title: "Threads",
    heading: html`<h1>Threads</h1>`,
    body: html`
<form class="panel" action="${listLink()}" method="get" role="search" aria-label="Threads">
<label>Search<input type="search" name="q" value="${query}" size="34" aria-describedby="search-help"></label>
<label>Status<select name="status"><option value="">any</option>${options(THREAD_STATUSES, status)}</select></label>
<label>With<select name="has"><option value="">anything</option>${TRAITS.map((one) => html`<option value="${one}"${one === has && html` selected`}>${one.replace("-", " ")}</option>`)}</select></label>
<button type="submit">Search</button>
<p class="small soft" id="search-help">A part of a message, of an id or of the metadata, or <code>key=value</code> of the metadata.</p>
</form>
${searched !== null && html`<p class="small soft">Only the ${count(searched)} threads that were changed last were searched.</p>`}
${threads.length === 0 ? html`<p class="panel">${page > 1 ? `There is no page ${count(page)}.` : query === "" && status === undefined && has === undefined ? "There are no threads yet." : "No thread was found."}</p>` : table(threads, knowsRuns, now)}
<nav class="pages" aria-label="Pages">
${page > 1 && html`<a href="${link(page - 1)}" rel="prev">Later threads</a>`}
${hasNext && html`<a href="${link(page + 1)}" rel="next">Earlier threads</a>`}
<span class="soft">Page ${count(page)}</span>
<a href="${listJsonLink({ q: query, status, has, page })}">JSON</a>
</nav>`,
  });
}

function table(threads: ListView["threads"], knowsRuns: boolean, now: number): Markup {
  return html`<table class="threads">
<caption class="hidden">Threads, the one that was changed last first</caption>
<thead><tr><th scope="col">Thread</th><th scope="col">Status</th><th scope="col">Doctor</th><th scope="col" class="number">Messages</th><th scope="col">Changed</th></tr></thead>
<tbody>${threads.map((thread) => line(thread, knowsRuns, now))}</tbody>
</table>`;
}

function line(
  { title, graph, updatedAt, lastRepair, openCalls, stopped, report }: ListView["threads"][number],
  knowsRuns: boolean,
  now: number,
): Markup {
  const { threadId, status, outcome, messages, findings } = report;
  const worth = worthALook(findings);
  return html`<tr>
<th scope="row"><a class="title" href="${threadLink(threadId)}"><bdi>${title === "" ? threadId : title}</bdi></a>${title !== "" && html`<span class="mono">${threadId}</span>`}<span class="small soft">${graph}</span></th>
<td data-label="Status">${statusChip(status, knowsRuns)}${stopped !== null && chip("stopped early", "warning")}</td>
<td data-label="Doctor">${(outcome !== "sound" || openCalls === 0) && outcomeChip(outcome, worth)}${openCalls > 0 && chip(amount(openCalls, "open call"), "warning")}${lastRepair !== null && chip(lastRepair.mark.word, lastRepair.mark.tone)}</td>
<td data-label="Messages" class="number">${messages === null ? "unknown" : count(messages)}</td>
<td data-label="Changed" class="small">${time(updatedAt, now)}</td>
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
