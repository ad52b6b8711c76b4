/** What is stored beside what is sent. */

import { html } from "hono/html";
import type { ShownRow } from "../view/fold-rows.js";
import { LEFT_OUT } from "../view/mark.js";
import { excerptText } from "../view/message-view.js";
import type { Row, SentCell, StoredCell } from "../view/rows.js";
import type { Html } from "./layout.js";
import { messageBody, messageHead, whys } from "./message-cell.js";
import { chip, chips } from "./parts.js";
import { amount, count } from "./words.js";

export function rowsOf(rows: readonly ShownRow[], link: (place: string) => string): Html {
  return html`<ol class="rows">${rows.map((shown) =>
    shown.kind === "row"
      ? html`<li class="row">${cells(shown.row, link)}</li>`
      : html`<li><details class="fold"><summary>${amount(shown.rows.length, "message")}: ${shown.word}</summary><ol>${shown.rows.map(
          (row) => html`<li class="row">${cells(row, link)}</li>`,
        )}</ol></details></li>`,
  )}</ol>`;
}

function cells(row: Row, link: (place: string) => string): Html {
  const { stored, sent } = row;
  return html`${stored === undefined ? notStored(row, link) : storedCell(stored)}${sent.length === 0 ? notSent(row, link) : html`<div class="cell" data-column="Sent">${sent.map((cell) => sentCell(cell, row, link))}</div>`}`;
}

function storedCell({ position, message, marks }: StoredCell): Html {
  return html`<div class="cell${message.isError ? " error" : ""}" data-column="Stored" id="stored-${position}"><span class="hidden">Stored:</span>${messageHead(position, message, marks)}${messageBody(message)}${whys(marks)}</div>`;
}

function sentCell(cell: SentCell, row: Row, link: (place: string) => string): Html {
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

function notStored({ storedElsewhere }: Row, link: (place: string) => string): Html {
  if (storedElsewhere.length > 0)
    return html`<div class="cell none" data-column="Stored"><p class="small">stored at ${places(storedElsewhere, "stored", link)}</p></div>`;
  return html`<div class="cell none empty" data-column="Stored"><p class="small">not stored</p></div>`;
}

function notSent({ sentElsewhere, absence }: Row, link: (place: string) => string): Html {
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
): readonly Html[] {
  return positions.map(
    (position, index) =>
      html`${index === 0 ? "" : ", "}<a href="${link(`${column}-${position}`)}">${count(position)}</a>`,
  );
}
