import type { Finding } from "../../doctor/finding.js";
import { addToList } from "../../shared/values.js";
import {
  type CallView,
  excerptText,
  type MessageView,
  nameIn,
  type ShownText,
} from "../view/message-view.js";
import {
  LEFT_OUT,
  type Mark,
  type Row,
  type SentCell,
  type ShownRow,
  type StoredCell,
} from "../view/rows.js";
import {
  DIALECT_NAMES,
  type MarkPlaces,
  type Step,
  type StepDifference,
  type ThreadView,
} from "../view/thread-view.js";
import {
  amount,
  chip,
  chips,
  count,
  layout,
  outcomeChip,
  sentence,
  soundnessList,
  sourceLink,
  statusChip,
  type ThreadLink,
  threadJsonLink,
  threadLink,
  timeText,
  worthALook,
} from "./layout.js";
import { html, type Markup } from "./markup.js";

/** What the reader chose, for the links of the page. */
export interface Chosen {
  readonly step: string | undefined;
  readonly dialect: string | undefined;
  readonly maxTokens: number | undefined;
}

/** The page `/tether/threads/:id`. */
export function threadPage(view: ThreadView, chosen: Chosen): Markup {
  const { threadId, title, page, marks, report, rows, totals, difference } = view;
  const link = (more: ThreadLink) => threadLink(threadId, { ...chosen, ...more });
  const name = title === "" ? threadId : title;
  return layout({
    title: name,
    heading: html`<h1><bdi>${name}</bdi></h1>${statusChip(report.status)}`,
    body: html`
<section class="panel" aria-label="The step">${choices(view, chosen)}${facts(view)}</section>
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

function choices({ steps, step, threadId, form }: ThreadView, chosen: Chosen): Markup {
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

function facts(view: ThreadView): Markup {
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
${fact("System prompt", form.options.systemPrompt === undefined ? html`<span class="soft">none is shown</span>` : html`<span class="soft">shown as sent</span>`)}
${fact("If it were sent as stored", soundnessList(soundness))}
</dl>`;
}

const fact = (name: string, value: Markup): Markup => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

function prefixText(difference: StepDifference | undefined): Markup {
  if (difference === undefined) return html`<span class="soft">there is no request before</span>`;
  const { isPrefixKept, prefix } = difference;
  return isPrefixKept
    ? html`${chip("kept", "good")} <span class="soft">the first ${amount(prefix, "message")}</span>`
    : html`${chip("broken", "warning")} <span class="soft">after ${amount(prefix, "message")}</span>`;
}

function differencePanel(
  { to, counts, goneMessages, gone }: StepDifference,
  link: (more: ThreadLink) => string,
): Markup {
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

function marksPanel(marks: readonly MarkPlaces[], link: (more: ThreadLink) => string): Markup {
  return html`<section class="panel"><h2 class="hidden">Marks</h2><ul class="marks">${marks.map(
    ({ mark, count: total, places }) =>
      html`<li>${chip(mark.word, mark.tone)}<span class="small">${places.map(
        ({ page, anchor, label }, index) =>
          html`${index === 0 ? "" : ", "}<a href="${link({ page })}#${anchor}">${label}</a>`,
      )}${total > places.length ? html` <span class="soft">and ${count(total - places.length)} more</span>` : ""}</span></li>`,
  )}</ul></section>`;
}

/** @param label What tells the two lists of links apart for a screen reader. */
function pages(
  { page, step }: ThreadView,
  link: (more: ThreadLink) => string,
  label: string,
): Markup | string {
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

/*
 * What is stored beside what is sent.
 */

function rowsOf(rows: readonly ShownRow[], link: (place: string) => string): Markup {
  return html`<ol class="rows">${rows.map((shown) =>
    shown.kind === "row"
      ? html`<li class="row">${cells(shown.row, link)}</li>`
      : html`<li><details class="fold"><summary>${amount(shown.rows.length, "message")}: ${shown.word}</summary><ol>${shown.rows.map(
          (row) => html`<li class="row">${cells(row, link)}</li>`,
        )}</ol></details></li>`,
  )}</ol>`;
}

function cells(row: Row, link: (place: string) => string): Markup {
  const { stored, sent } = row;
  return html`${stored === undefined ? notStored(row, link) : storedCell(stored)}${sent.length === 0 ? notSent(row, link) : html`<div class="cell" data-column="Sent">${sent.map((cell) => sentCell(cell, row, link))}</div>`}`;
}

function storedCell({ position, message, marks }: StoredCell): Markup {
  return html`<div class="cell${message.isError ? " error" : ""}" data-column="Stored" id="stored-${position}"><span class="hidden">Stored:</span>${messageHead(position, message, marks)}${messageBody(message)}${whys(marks)}</div>`;
}

function sentCell(cell: SentCell, row: Row, link: (place: string) => string): Markup {
  const { position, message, marks, isAsStored, novelty } = cell;
  const news =
    novelty === "new" || novelty === "changed"
      ? chip(novelty === "new" ? "new" : "changed since", "news")
      : "";
  const from =
    row.storedElsewhere.length === 0
      ? ""
      : html`<p class="small soft">${row.stored === undefined ? "Stored at" : "Joined with"} ${places(row.storedElsewhere, "stored", link)}</p>`;
  const body = isAsStored
    ? html`<p class="same small">As stored: <bdi>${excerptText(message)}</bdi></p>`
    : html`${messageBody(message)}${whys(marks)}`;
  return html`<div id="sent-${position}"><span class="hidden">Sent:</span>${messageHead(position, message, marks, news)}${body}${from}</div>`;
}

function notStored({ storedElsewhere }: Row, link: (place: string) => string): Markup {
  if (storedElsewhere.length > 0)
    return html`<div class="cell none" data-column="Stored"><p class="small">stored at ${places(storedElsewhere, "stored", link)}</p></div>`;
  return html`<div class="cell none empty" data-column="Stored"><p class="small">not stored</p></div>`;
}

function notSent({ sentElsewhere, absence }: Row, link: (place: string) => string): Markup {
  const isSaid = absence.some(({ code }) => code === LEFT_OUT.code);
  const to =
    sentElsewhere.length > 0
      ? html`sent at ${places(sentElsewhere, "sent", link)}`
      : isSaid
        ? ""
        : "not sent";
  return html`<div class="cell none" data-column="Sent"><p class="head">${chips(absence)}<span class="small">${to}</span></p>${sentElsewhere.length === 0 ? whys(absence) : ""}</div>`;
}

function places(
  positions: readonly number[],
  column: string,
  link: (place: string) => string,
): readonly Markup[] {
  return positions.map(
    (position, index) =>
      html`${index === 0 ? "" : ", "}<a href="${link(`${column}-${position}`)}">${count(position)}</a>`,
  );
}

/*
 * One message on the page.
 */

/** The rest of a longer text is behind one line. */
const SHOWN_AT_ONCE = 600;

function messageHead(
  position: number,
  message: MessageView,
  marks: readonly Mark[],
  more: Markup | string = "",
): Markup {
  const { role, name, maker, tokens } = message;
  return html`<p class="head"><span class="at">${count(position)}</span><span class="role">${role}</span>${name === "" ? "" : html`<bdi class="name">${name}</bdi>`}${maker === "" ? "" : html`<bdi class="maker">${maker}</bdi>`}${chips(marks)}${more}<span class="tokens">${amount(tokens, "token")}</span></p>`;
}

function messageBody({ content, reasoning, calls, answers, id }: MessageView): Markup {
  const ids = [...(id === "" ? [] : [`id ${id}`]), ...(answers === "" ? [] : [`answers ${answers}`])];
  return html`${reasoning.text === "" ? "" : html`<details class="small"><summary>Reasoning</summary>${shownText(reasoning, "text thought")}</details>`}${content.text === "" ? "" : shownText(content, "text")}${calls.map(callLine)}${ids.length === 0 ? "" : html`<p class="ids mono"><bdi>${ids.join(" · ")}</bdi></p>`}`;
}

/** The sentences behind the marks. */
function whys(marks: readonly Mark[]): Markup | string {
  const told = marks.filter(({ text, source }) => text !== "" || source !== null);
  if (told.length === 0) return "";
  return html`<ul class="why">${told.map(({ text, source }) => html`<li>${sentence(text)}${sourceLink(source)}</li>`)}</ul>`;
}

function callLine({ name, id, arguments: given, isInvalid }: CallView): Markup {
  return html`<code class="call" dir="auto">${name === "" ? "(unnamed)" : name}(${given.text}${cutNote(given)})${isInvalid ? " · arguments that cannot be parsed" : ""} <span class="soft">${id === "" ? "no id" : id}</span></code>`;
}

function shownText(shown: ShownText, style: string): Markup {
  const { text } = shown;
  if (text.length <= SHOWN_AT_ONCE * 1.3)
    return html`<div class="${style}" dir="auto">${text}${cutNote(shown)}</div>`;
  const [first, rest] = [text.slice(0, SHOWN_AT_ONCE), text.slice(SHOWN_AT_ONCE)];
  return html`<div class="${style}" dir="auto">${first}…</div><details class="small"><summary>${count(rest.length + shown.cut)} more characters</summary><div class="${style}" dir="auto">${rest}${cutNote(shown)}</div></details>`;
}

const cutNote = ({ cut }: ShownText): Markup | string =>
  cut === 0 ? "" : html` <span class="soft">… and ${amount(cut, "character")} that only the JSON has</span>`;

/*
 * What the doctor finds in a thread.
 */

const TONES: Readonly<Record<string, string>> = { error: "bad", warning: "warning" };
/** How many places of one fault are linked. */
const MOST_PLACES = 20;

/** One entry for all findings that say the same. */
function findingsPanel(findings: readonly Finding[], linkOf: (index: number) => string): Markup | string {
  if (findings.length === 0) return "";
  const groups = new Map<string, Finding[]>();
  for (const finding of findings)
    addToList(groups, [finding.code, finding.severity, finding.dialect].join(" "), finding);
  return html`<section class="panel"><h2>What the doctor finds</h2><ul class="findings">${[
    ...groups.values(),
  ].map((group) => groupEntry(group, linkOf))}</ul></section>`;
}

function groupEntry(group: readonly Finding[], linkOf: (index: number) => string): Markup | string {
  const [first] = group;
  if (first === undefined) return "";
  const { code, severity, evidence, providerSays, fixes } = first;
  const places = [...new Set(group.flatMap(({ index }) => index ?? []))];
  return html`<li><p class="head">${chip(severity, TONES[severity])}<code>${code}</code><span class="small">${places
    .slice(0, MOST_PLACES)
    .map(
      (index, order) =>
        html`${order === 0 ? "message " : ", "}<a href="${linkOf(index)}">${count(index + 1)}</a>`,
    )}${
    places.length > MOST_PLACES ? ` and ${count(places.length - MOST_PLACES)} more` : ""
  }</span></p><p><bdi>${sentence(evidence)}</bdi>${group.length > 1 ? html` <span class="soft">And ${count(group.length - 1)} like it.</span>` : ""}</p>${
    providerSays === null
      ? ""
      : html`<p class="small soft">The provider answers: <bdi>${providerSays}</bdi></p>`
  }${fixes.map(({ description }) => html`<p class="small soft">${description}</p>`)}</li>`;
}
