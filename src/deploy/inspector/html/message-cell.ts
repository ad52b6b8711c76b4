/** One message on the page. */

import { html } from "hono/html";
import type { Mark } from "../view/mark.js";
import type { CallView, MessageView, ShownText } from "../view/message-view.js";
import type { Html } from "./layout.js";
import { chips, sourceLink } from "./parts.js";
import { amount, count, sentence } from "./words.js";

/** The rest of a longer text is behind one line. */
const SHOWN_AT_ONCE = 600;

export function messageHead(
  position: number,
  message: MessageView,
  marks: readonly Mark[],
  more: Html | string = "",
): Html {
  const { role, name, maker, tokens } = message;
  return html`<p class="head"><span class="at">${count(position)}</span><span class="role">${role}</span>${name === "" ? "" : html`<bdi class="name">${name}</bdi>`}${maker === "" ? "" : html`<bdi class="maker">${maker}</bdi>`}${chips(marks)}${more}<span class="tokens">${amount(tokens, "token")}</span></p>`;
}

export function messageBody({ content, reasoning, calls, answers, id }: MessageView): Html {
  const ids = [...(id === "" ? [] : [`id ${id}`]), ...(answers === "" ? [] : [`answers ${answers}`])];
  return html`${reasoning.text === "" ? "" : html`<details class="small"><summary>Reasoning</summary>${shownText(reasoning, "text thought")}</details>`}${content.text === "" ? "" : shownText(content, "text")}${calls.map(callLine)}${ids.length === 0 ? "" : html`<p class="ids mono"><bdi>${ids.join(" · ")}</bdi></p>`}`;
}

/** The sentences behind the marks. */
export function whys(marks: readonly Mark[]): Html | string {
  const told = marks.filter(({ text, source }) => text !== "" || source !== null);
  if (told.length === 0) return "";
  return html`<ul class="why">${told.map(({ text, source }) => html`<li>${sentence(text)}${sourceLink(source)}</li>`)}</ul>`;
}

function callLine({ name, id, arguments: given, isInvalid }: CallView): Html {
  return html`<code class="call" dir="auto">${name === "" ? "(unnamed)" : name}(${given.text}${cutNote(given)})${isInvalid ? " · arguments that cannot be parsed" : ""} <span class="soft">${id === "" ? "no id" : id}</span></code>`;
}

function shownText(shown: ShownText, style: string): Html {
  const { text } = shown;
  if (text.length <= SHOWN_AT_ONCE * 1.3)
    return html`<div class="${style}" dir="auto">${text}${cutNote(shown)}</div>`;
  const [first, rest] = [text.slice(0, SHOWN_AT_ONCE), text.slice(SHOWN_AT_ONCE)];
  return html`<div class="${style}" dir="auto">${first}…</div><details class="small"><summary>${count(rest.length + shown.cut)} more characters</summary><div class="${style}" dir="auto">${rest}${cutNote(shown)}</div></details>`;
}

const cutNote = ({ cut }: ShownText): Html | string =>
  cut === 0 ? "" : html` <span class="soft">… and ${amount(cut, "character")} that only the JSON has</span>`;
