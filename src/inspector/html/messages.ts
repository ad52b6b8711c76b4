/** The messages of a thread as rows: what is stored, what is sent, and what differs. */

import { amount, count } from "../../shared/text.js";
import { type MessageView, nameIn, type ShownText, viewMessage } from "../view/message-view.js";
import { isMarkOfForm, isOfForm, isSameText, type Mark, type Row, type ShownRow } from "../view/rows.js";
import type { Archive, StepDifference, ThreadView } from "../view/thread-view.js";
import { bytes, chip, joined, sentence, sourceLink } from "./layout.js";
import { html, type Markup } from "./markup.js";

/** The address of a place on the page. */
export type LinkTo = (anchor: string) => string;

export function messageRows(
  rows: readonly ShownRow[],
  linkTo: LinkTo,
  archived: ThreadView["archived"],
): Markup {
  const rowOf = (row: Row) => messageRow(row, linkTo, archived);
  return html`<ol class="rows">${rows.map((shown) =>
    shown.kind === "row"
      ? rowOf(shown.row)
      : html`<li><details class="fold"><summary>${amount(shown.rows.length, "message")} ${shown.word}</summary><ol>${shown.rows.map(rowOf)}</ol></details></li>`,
  )}</ol>`;
}

const TITLES = { "as-stored": "", changed: "changed", added: "not stored", "left-out": "not sent" } as const;

function messageRow(row: Row, linkTo: LinkTo, archived: ThreadView["archived"]): Markup {
  const { kind, stored, sent, absence, summary, sentElsewhere, storedElsewhere } = row;
  const [first, ...others] = sent;
  const shown = stored?.message ?? first?.message ?? row.addition;
  const marks = distinct([...(stored?.marks ?? []), ...sent.flatMap((cell) => cell.marks), ...absence]);
  const isNews = first?.novelty === "new" || first?.novelty === "changed";
  const news = isNews ? chip(first.novelty === "new" ? "new" : "changed since", "news") : "";
  const links = [
    ...(summary === undefined || summary === 0
      ? []
      : [html`<a href="${linkTo(`stored-${summary}`)}">its summary</a>`]),
    ...(sentElsewhere.length === 0 ? [] : [html`sent at ${places(sentElsewhere, "sent", linkTo)}`]),
    ...(storedElsewhere.length === 0
      ? []
      : [
          html`${stored === undefined ? "stored at" : "joined with"} ${places(storedElsewhere, "stored", linkTo)}`,
        ]),
  ];
  const tone = marks.some((mark) => mark.tone === "good")
    ? " good"
    : marks.some((mark) => mark.tone === "warning")
      ? " warning"
      : "";
  if (shown === undefined) return html``;
  // What is said of the form alone is beside the ids.
  const ofForm = isSameText(row) ? sent.flatMap((cell) => cell.marks).filter(isMarkOfForm) : [];
  const told = marks.filter((mark) => !ofForm.includes(mark));
  const ids = idsLine(shown, kind === "changed" ? first?.message : undefined);
  const details =
    ids === "" && ofForm.length === 0
      ? ""
      : html`<details class="ids"><summary>${ofForm.length === 0 ? "ids" : "details"}</summary>${ids}${whys(ofForm)}</details>`;
  const head = html`<div class="head"><span class="at">${stored === undefined ? "+" : count(stored.position)}</span><span class="role">${shown.role}</span>${shown.name === "" ? "" : html`<bdi class="name">${shown.name}</bdi>`}${shown.maker === "" ? "" : html`<bdi class="maker">${shown.maker}</bdi>`}${marks.map(({ word, tone: own }) => chip(word, own))}${news}${kind === "as-stored" || marks.length > 0 ? "" : chip(TITLES[kind])}${links.map((link) => html`<span class="small">${link}</span>`)}<span class="tokens">${amount(shown.tokens, "token")}</span>${details}</div>`;
  const body = messageBody(shown, kind === "changed" ? first?.message : undefined);
  const rest = others.map(
    ({ position, message }) => html`<div id="sent-${position}" class="part">${messageBody(message)}</div>`,
  );
  const old = stored === undefined ? undefined : archived.get(stored.message.id);
  return html`<li class="row ${isOfForm(row) ? "as-stored" : kind}${tone}${shown.type === "tool" ? " result" : ""}${shown.isError ? " failed" : ""}" id="${row.anchor}">${
    stored !== undefined && first !== undefined ? html`<span id="sent-${first.position}"></span>` : ""
  }${head}${body}${rest}${whys(told)}${old === undefined ? "" : archive(old)}</li>`;
}

function distinct(marks: readonly Mark[]): readonly Mark[] {
  return [...new Map(marks.map((mark) => [mark.word, mark])).values()];
}

function places(positions: readonly number[], column: string, linkTo: LinkTo): readonly Markup[] {
  return joined(positions.map((at) => html`<a href="${linkTo(`${column}-${at}`)}">${count(at)}</a>`));
}

/** A store of another process cannot be read, so it is said where the messages are. */
function archive({ messages, total, namespace }: Archive): Markup {
  if (messages.length === 0)
    return html`<p class="small soft">They are in the store of the agent, in the namespace <code>${namespace.map(nameIn).join(" / ")}</code>, which cannot be read from here.</p>`;
  const found = messages.length === total ? "" : `${count(messages.length)} of `;
  return html`<details class="small"><summary>${found}${amount(total, "message")} of the archive</summary><ol>${messages.map(
    (message) => {
      const view = viewMessage(message);
      return html`<li class="part">${plainHead(view)}${messageBody(view)}</li>`;
    },
  )}</ol></details>`;
}

/** Messages of the request before that are not sent any more. */
export function goneList({ gone, goneMessages }: StepDifference): Markup | string {
  if (goneMessages.length === 0) return "";
  return html`<details class="panel"><summary>${amount(gone.length, "message")} of the request before not sent any more</summary><ol>${goneMessages.map(
    ({ position, message }) =>
      html`<li class="part">${plainHead(message, position)}${messageBody(message)}</li>`,
  )}</ol></details>`;
}

const plainHead = ({ role, name, tokens }: MessageView, position?: number): Markup =>
  html`<p class="head">${position === undefined ? "" : html`<span class="at">${count(position)}</span>`}<span class="role">${role}</span>${name === "" ? "" : html`<bdi class="name">${name}</bdi>`}<span class="tokens">${amount(tokens, "token")}</span></p>`;

/** The sentences behind the marks. */
function whys(marks: readonly Mark[]): Markup | string {
  const told = marks.filter(({ text, source }) => text !== "" || source !== null);
  if (told.length === 0) return "";
  return html`<ul class="why">${told.map(({ text, source }) => html`<li>${sentence(text)}${sourceLink(source)}</li>`)}</ul>`;
}

/*
 * The body of a message. Of a message that is sent in another form, each part shows what differs.
 */

/** The rest of a longer text is behind one line. */
const SHOWN_AT_ONCE = 600;
const NOTHING: ShownText = { text: "", cut: 0 };

function messageBody(message: MessageView | undefined, sent?: MessageView): Markup {
  if (message === undefined) return html``;
  const { content, reasoning, calls, pictures, isJson } = message;
  const callOf = (view: MessageView | undefined, index: number): ShownText => {
    const call = view?.calls[index];
    if (call === undefined) return NOTHING;
    const note = call.isInvalid ? " · arguments that cannot be parsed" : "";
    return { text: `${call.name || "(unnamed)"}(${call.arguments.text})${note}`, cut: call.arguments.cut };
  };
  const most = Math.max(calls.length, sent?.calls.length ?? 0);
  return html`${reasoning.text === "" ? "" : html`<details class="small"><summary>Reasoning${sent !== undefined && sent.reasoning.text === "" ? " (not sent)" : ""}</summary>${shownText(reasoning, "text thought")}</details>`}${differing(content, sent?.content, isJson ? "call" : "text")}${pictures.map(
    ({ address, kind, bytes: size }) =>
      html`<figure><img src="${address}" alt="A picture of the message" loading="lazy"><figcaption class="small soft">${kind}, ${bytes(size)}</figcaption></figure>`,
  )}${Array.from({ length: most }, (_, index) => differing(callOf(message, index), sent && callOf(sent, index), "call"))}`;
}

function idsOf({ id, answers, calls }: MessageView): string {
  return [
    ...(id === "" ? [] : [`id ${id}`]),
    ...(answers === "" ? [] : [`answers ${answers}`]),
    ...(calls.length === 0 ? [] : [`calls ${calls.map((call) => call.id || "without id").join(" ")}`]),
  ].join(" · ");
}

function idsLine(message: MessageView, sent: MessageView | undefined): Markup | string {
  const [before, after] = [idsOf(message), sent === undefined ? "" : idsOf(sent)];
  if (before === "") return "";
  return html`<p class="mono"><bdi>${after === "" ? before : diff(before, after)}</bdi></p>`;
}

function differing(before: ShownText, after: ShownText | undefined, style: string): Markup | string {
  if (after === undefined || after.text === before.text)
    return before.text === "" ? "" : shownText(before, style);
  return html`<div class="${style}" dir="auto">${diff(before.text, after.text)}${cutNote(after)}</div>`;
}

/** How much of the same text stands around a difference. */
const CONTEXT = 160;

/** Words, and the white space between them. */
const wordsOf = (text: string): string[] => text.split(/(?<=\s)|(?=\s)/);

/** What both texts begin and end with stays. What is between is struck out and written anew. */
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
  return html`${head.length > CONTEXT ? `…${head.slice(-CONTEXT)}` : head}${removed ? html`<del>${removed.slice(0, SHOWN_AT_ONCE)}${removed.length > SHOWN_AT_ONCE ? "…" : ""}</del>` : ""}${added ? html`<ins>${added}</ins>` : ""}${tail.length > CONTEXT ? `${tail.slice(0, CONTEXT)}…` : tail}`;
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
