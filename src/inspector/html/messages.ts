/** A thread's messages as rows: what is stored, what is sent, and what differs. */

import type { BaseMessage } from "@langchain/core/messages";
import { amount, count } from "../../shared/text.js";
import { type MessageView, type ShownText, viewMessage } from "../view/message-view.js";
import type { Archive, Archives } from "../view/read-threads.js";
import type { RequestDifference } from "../view/request.js";
import {
  distinctBy,
  isMarkOfForm,
  isOfForm,
  isSameText,
  type Mark,
  type Row,
  type ShownRow,
} from "../view/rows.js";
import { bytes, chip, codeSpans, joined, sentence, sourceLink } from "./layout.js";
import { html, type Markup } from "./markup.js";

export type LinkTo = (anchor: string) => string;

/** Where the rows are. */
export interface Rows {
  readonly linkTo: LinkTo;
  /** The row at a position among all others, if the page has only some. */
  readonly amongAll?: ((position: number) => string) | undefined;
}

export function messageRows(rows: readonly ShownRow[], places: Rows, archives: Archives): Markup {
  const rowOf = (row: Row) => messageRow(row, places, archives);
  return html`<ol class="rows">${rows.map((shown) =>
    "rows" in shown
      ? html`<li><details class="fold"><summary>${amount(shown.rows.length, "message")} ${shown.word}</summary><ol>${shown.rows.map(rowOf)}</ol></details></li>`
      : rowOf(shown),
  )}</ol>`;
}

const TITLES = { "as-stored": "", changed: "changed", added: "not stored", "left-out": "not sent" } as const;

function messageRow(row: Row, { linkTo, amongAll }: Rows, archives: Archives): Markup {
  const { kind, anchor, message, position, sent, sentPosition, novelty, own, faults, fate } = row;
  const shown = position === undefined ? (sent ?? message) : message;
  if (shown === undefined) return html``;
  const view = viewMessage(shown);
  const changed = kind === "changed" && sent !== undefined ? viewMessage(sent) : undefined;
  const marks = distinctBy([...faults, ...own, ...fate], ({ word }) => word);
  // What concerns only the form is beside the ids.
  const ofForm = isSameText(row) ? fate.filter(isMarkOfForm) : [];
  const tone = ["bad", "good", "warning"].find((one) => marks.some((mark) => mark.tone === one));
  const news = novelty === "new" ? "new" : novelty === "changed" && "changed since";
  const ids =
    view.ids !== "" &&
    html`<p class="mono"><bdi>${changed?.ids ? diff(view.ids, changed.ids) : view.ids}</bdi></p>`;
  const details =
    (view.ids !== "" || ofForm.length > 0) &&
    html`<details class="ids"><summary>${ofForm.length === 0 ? "ids" : "details"}</summary>${ids}${whys(ofForm)}</details>`;
  const head = html`<div class="head"><span class="at">${position === undefined ? "+" : amongAll === undefined ? count(position) : html`<a href="${amongAll(position)}">${count(position)}</a>`}</span>${whoOf(view)}${view.maker !== "" && html`<bdi class="maker">${view.maker}</bdi>`}${marks.map(({ word, tone: own }) => chip(word, own))}${news && chip(news, "news")}${kind !== "as-stored" && marks.length === 0 && chip(TITLES[kind])}${linksOf(row, linkTo)}<span class="tokens">${amount(view.tokens, "token")}</span>${details}</div>`;
  const old = position === undefined ? undefined : archives.get(shown.id ?? "");
  return html`<li class="row ${isOfForm(row) ? "as-stored" : kind}${tone && ` ${tone}`}${shown.type === "tool" && " result"}${view.isError && " failed"}" id="${anchor}">${
    position !== undefined && sent !== undefined && html`<span id="sent-${sentPosition}"></span>`
  }${head}${messageBody(view, changed)}${whys(marks.filter((mark) => !ofForm.includes(mark)))}${old && archive(old)}</li>`;
}

/** The links to the row's related parts elsewhere. */
function linksOf({ position, summary, sentElsewhere, storedElsewhere }: Row, linkTo: LinkTo) {
  const link = (column: string, at: number, text: string) =>
    html`<a href="${linkTo(`${column}-${at}`)}">${text}</a>`;
  const stored = storedElsewhere.map((at) => link("stored", at, count(at)));
  const links = [
    summary !== undefined && link("stored", summary, "its summary"),
    sentElsewhere !== undefined && html`sent at ${link("sent", sentElsewhere, count(sentElsewhere))}`,
    stored.length > 0 && html`${position === undefined ? "stored at" : "joined with"} ${joined(stored)}`,
  ];
  return links.map((one) => one && html`<span class="small">${one}</span>`);
}

/** Checkpoints can be deleted, so it says where the messages are. */
function archive({ messages, isWhole }: Archive): Markup {
  if (messages.length === 0)
    return html`<p class="small soft">They are in an earlier checkpoint of the thread, which cannot be read from here or has been deleted.</p>`;
  const found = isWhole ? "" : "The latest ";
  return html`<details class="small"><summary>${found}${amount(messages.length, "message")} of the archive</summary>${plainList(messages)}</details>`;
}

/** Messages of the previous request that are no longer sent. */
export function goneList({ counts, gone }: RequestDifference): Markup | false {
  return (
    gone.length > 0 &&
    html`<details class="panel"><summary>${amount(counts.gone, "message")} of the request before not sent any more</summary>${plainList(
      gone.map(({ message }) => message),
      gone.map(({ position }) => position),
    )}</details>`
  );
}

function plainList(messages: readonly BaseMessage[], positions: readonly number[] = []): Markup {
  return html`<ol>${messages.map((message, index) => {
    const view = viewMessage(message);
    const at = positions[index];
    return html`<li class="part"><p class="head">${at !== undefined && html`<span class="at">${count(at)}</span>`}${whoOf(view)}<span class="tokens">${amount(view.tokens, "token")}</span></p>${messageBody(view)}</li>`;
  })}</ol>`;
}

const whoOf = ({ role, name }: MessageView): Markup =>
  html`<span class="role">${role}</span>${name !== "" && html`<bdi class="name">${name}</bdi>`}`;

/** The sentences behind the marks. */
function whys(marks: readonly Mark[]): Markup | false {
  const told = marks.filter(({ text, source }) => text !== "" || source !== null);
  return (
    told.length > 0 &&
    html`<ul class="why">${told.map(({ text, source }) => html`<li>${codeSpans(sentence(text))}${sourceLink(source)}</li>`)}</ul>`
  );
}

/*
 * A message's body. If the message is sent in another form, each part shows what differs.
 */

/** The rest of a longer text is behind one line. */
const SHOWN_AT_ONCE = 600;
const NOTHING: ShownText = { text: "", cut: 0 };

function messageBody({ content, reasoning, calls, media, isJson }: MessageView, sent?: MessageView): Markup {
  const most = Math.max(calls.length, sent?.calls.length ?? 0);
  return html`${reasoning.text !== "" && html`<details class="small"><summary>Reasoning${sent?.reasoning.text === "" && " (not sent)"}</summary>${shownText(reasoning, "text thought")}</details>`}${differing(content, sent?.content, isJson ? "call" : "text")}${media.map(
    ({ address, label, bytes: size }) =>
      html`<figure>${address !== undefined && html`<img src="${address}" alt="A picture of the message" loading="lazy">`}<figcaption class="small soft"><bdi>${label}</bdi>${size !== undefined && `, ${bytes(size)}`}</figcaption></figure>`,
  )}${Array.from({ length: most }, (_, index) => differing(calls[index] ?? NOTHING, sent && (sent.calls[index] ?? NOTHING), "call"))}`;
}

function differing(before: ShownText, after: ShownText | undefined, style: string): Markup | false {
  if (after === undefined || after.text === before.text)
    return before.text !== "" && shownText(before, style);
  return html`<div class="${style}" dir="auto">${diff(before.text, after.text)}${cutNote(after)}</div>`;
}

/** How much unchanged text surrounds a difference. */
const CONTEXT = 160;

/** Words, and the white space between them. */
const wordsOf = (text: string): string[] => text.split(/(?<=\s)|(?=\s)/);

/** The common beginning and end stay. What is between is struck out and written anew. */
function diff(before: string, after: string): Markup {
  const [old, next] = [wordsOf(before), wordsOf(after)];
  let start = 0;
  while (start < old.length && old[start] === next[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, next.length) - start;
  while (end < most && old.at(-1 - end) === next.at(-1 - end)) end += 1;
  const [removed, added] = [old.slice(start, old.length - end), next.slice(start, next.length - end)].map(
    (words) => words.join(""),
  );
  const [head, tail] = [old.slice(0, start).join(""), end === 0 ? "" : old.slice(-end).join("")];
  return html`${head.length > CONTEXT ? `…${head.slice(-CONTEXT)}` : head}${removed && html`<del>${removed.slice(0, SHOWN_AT_ONCE)}${removed.length > SHOWN_AT_ONCE && "…"}</del>`}${added && html`<ins>${added}</ins>`}${tail.length > CONTEXT ? `${tail.slice(0, CONTEXT)}…` : tail}`;
}

function shownText(shown: ShownText, style: string): Markup {
  const { text } = shown;
  if (text.length <= SHOWN_AT_ONCE * 1.3)
    return html`<div class="${style}" dir="auto">${text}${cutNote(shown)}</div>`;
  const [first, rest] = [text.slice(0, SHOWN_AT_ONCE), text.slice(SHOWN_AT_ONCE)];
  return html`<div class="${style}" dir="auto">${first}…</div><details class="small"><summary>${count(rest.length + shown.cut)} more characters</summary><div class="${style}" dir="auto">${rest}${cutNote(shown)}</div></details>`;
}

const cutNote = ({ cut }: ShownText): Markup | false =>
  cut > 0 && html` <span class="soft">… and ${amount(cut, "character")} that only the JSON has</span>`;
