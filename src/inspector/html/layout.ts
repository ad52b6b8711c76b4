/** What all pages have. */

import { createHash } from "node:crypto";
import { amount, count, printableLine, shortened, spanText } from "../../shared/text.js";
import type { ListQuery, ThreadQuery } from "../view/query.js";
import { html, Markup } from "./markup.js";

/*
 * The style sheet. System fonts, the steps beside the messages, and below them on a narrow screen.
 */

/** Each text colour has a contrast of at least 4.5 to 1 on each of its backgrounds. */
const COLOURS = `
:root{color-scheme:light dark;
--ground:#f7f7f5;--panel:#fff;--sunk:#f1f1ee;--ink:#1b1d21;--soft:#5a5f68;--line:#e2e2de;--link:#0a4fb3;
--good:#e0f2e5;--good-ink:#135029;--warning:#fcecc9;--warning-ink:#653a00;--bad:#fbe0de;--bad-ink:#8a1f17;
--neutral:#eaebee;--neutral-ink:#3c424b}
@media (prefers-color-scheme:dark){:root{
--ground:#121316;--panel:#1a1c20;--sunk:#22252a;--ink:#e7e8ea;--soft:#a6abb4;--line:#2e3137;--link:#8fb8ff;
--good:#15371f;--good-ink:#a5e3b8;--warning:#3c2c0a;--warning-ink:#f3d28c;--bad:#451b19;--bad-ink:#ffb8b1;
--neutral:#2a2d33;--neutral-ink:#ccd0d7}}
`;

const BASE = `
*{box-sizing:border-box}
html{scroll-padding-top:7rem}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:80rem;margin:0 auto;padding:1rem 1.5rem 4rem}main:focus{outline:none}
a{color:var(--link);text-underline-offset:.15em;text-decoration-thickness:1px}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:3px}
h1,h2{margin:0;font-weight:600;line-height:1.3;text-wrap:balance}h1{font-size:1.05rem}h2{font-size:1rem}
p,ul,ol,dl,dd{margin:0;padding:0}p,li,code{overflow-wrap:anywhere}ul,ol{list-style:none}
code,.mono{font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
.soft{color:var(--soft)}.small{font-size:13px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;z-index:9;background:var(--panel);padding:.5rem .75rem}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.top{position:sticky;top:0;z-index:3;display:flex;align-items:baseline;gap:.75rem;min-height:3rem;padding:.7rem 1.5rem;background:var(--panel);border-bottom:1px solid var(--line)}
.top h1{min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.top .chip{flex:none;white-space:nowrap}
.brand{font-weight:700;color:var(--ink);text-decoration:none}.brand::after{content:"/";margin-left:.75rem;color:var(--soft);font-weight:400}
.panel{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:.8rem 1.15rem;margin-bottom:.75rem}
.chip{display:inline-block;padding:.05rem .5rem;border-radius:8px;font-size:12.5px;line-height:1.5;font-weight:400;overflow-wrap:anywhere}
.chip{background:var(--neutral);color:var(--neutral-ink)}
.chip.good{background:var(--good);color:var(--good-ink)}.chip.warning{background:var(--warning);color:var(--warning-ink)}.chip.news{background:none;color:var(--link);box-shadow:inset 0 0 0 1px currentColor}.chip.bad{background:var(--bad);color:var(--bad-ink)}
form{display:flex;flex-wrap:wrap;gap:.75rem 1rem;align-items:end}
label{display:grid;gap:.2rem;font-size:13px;color:var(--soft);min-width:0}
input,select,button{font:inherit;font-size:14px;color:var(--ink);background:var(--panel);border:1px solid #8a8f98;border-radius:7px;padding:.4rem .6rem;max-width:100%;min-height:2.4rem}
button{background:var(--link);border-color:var(--link);color:var(--panel);font-weight:600;cursor:pointer;padding-inline:1.1rem}
button.small{min-height:0;padding:.05rem .6rem;font-size:12.5px;font-weight:400;background:none;color:var(--link);border-color:currentColor}.printed.only{display:none}.pages{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem;margin:1rem 0;align-items:baseline}
details>summary{cursor:pointer;color:var(--link)}
`;

const LIST = `
.threads{width:100%;border-collapse:separate;overflow:clip;background:var(--panel);border:1px solid var(--line);border-radius:10px;border-spacing:0}
.threads th,.threads td{padding:.7rem .8rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
.threads thead th{font-size:13px;font-weight:600;color:var(--soft)}.threads tbody th{font-weight:400;min-width:14rem;max-width:24rem}
.threads tbody tr:last-child>*{border-bottom:0}.threads td.number,.threads th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.threads td .chip{white-space:nowrap}.threads .codes{display:block;margin-top:.2rem}.threads .title{font-weight:600;overflow-wrap:anywhere}.threads .mono{display:block;color:var(--soft);font-size:12px;overflow-wrap:anywhere}
`;

const THREAD = `
.thread{display:grid;grid-template-columns:16.5rem minmax(0,1fr);gap:1.25rem;align-items:start}.content{grid-column:2;grid-row:1;min-width:0}
.rail{grid-column:1;grid-row:1;position:sticky;top:4rem;max-height:calc(100vh - 5rem);overflow:auto;font-size:13px}.rail h2{font-size:14px;margin-bottom:.4rem}
.rail li{border-left:2px solid var(--line);margin-left:.3rem}.rail li.branch{margin-left:1rem;border-left-style:dashed}
.rail a{display:grid;gap:.05rem;padding:.3rem .6rem;color:var(--ink);text-decoration:none;overflow-wrap:anywhere;border-radius:0 6px 6px 0}.rail li.other b{font-weight:400;color:var(--soft)}.rail li>a .chip{font-size:12px;padding-inline:.35rem}.rail li:not(:has(a)){padding:.5rem .6rem .1rem}
.rail .name{display:flex;flex-wrap:wrap;gap:0 .4rem;align-items:baseline}.rail .name>:last-child{margin-left:auto;font-size:12px}.tools a.narrow{display:none}
.rail .earlier a{color:var(--link);text-decoration:underline}.rail a:hover{background:var(--sunk)}.rail a[aria-current]{background:var(--sunk);box-shadow:inset 3px 0 0 var(--link)}
.story{font-size:15.5px}.story dl{display:grid;gap:.55rem}.story dl>div{display:grid;grid-template-columns:8.5rem minmax(0,1fr);gap:0 1rem}.story dt{font-size:13.5px;font-weight:600;color:var(--soft);line-height:1.75}.story p+p{margin-top:.15rem}.chip+.chip{margin-left:.3rem}.head .chip+.chip{margin-left:0}.story .soft{font-size:14px}.good-text{color:var(--good-ink)}.warning-text{color:var(--warning-ink)}.bad-text{color:var(--bad-ink)}
.tools{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem;align-items:center;margin-bottom:.75rem;font-size:14px}.tools nav{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem}.tools a,.tools summary{display:inline-block;padding:.2rem 0}.tools details[open]{flex-basis:100%}.tools .panel{margin:.4rem 0 0}
.jump{display:flex;gap:.5rem;align-items:center}.jump label{display:flex;gap:.5rem;align-items:center}.jump input{width:6rem}.jump input[type=search]{width:11rem}.jump input,.jump button{min-height:0;padding:.15rem .5rem}
.facts{display:flex;flex-wrap:wrap;gap:.5rem 1.75rem;margin-top:.9rem}.facts div{min-width:0}.facts dt{font-size:13px;color:var(--soft)}.facts dd{overflow-wrap:anywhere}
.rows{background:var(--panel);border:1px solid var(--line);border-radius:10px;overflow:clip}
.row{padding:.6rem 1.15rem .7rem;border-bottom:1px solid var(--line);border-left:3px solid transparent;min-width:0;overflow-wrap:anywhere}.rows>:last-child{border-bottom:0}
.row.result{padding-left:3rem}.row.good{border-left-color:var(--good-ink);background:color-mix(in srgb,var(--good) 45%,var(--panel))}.row.bad{border-left-color:var(--bad-ink);background:color-mix(in srgb,var(--bad) 45%,var(--panel))}.row.warning{border-left-color:var(--warning-ink);background:color-mix(in srgb,var(--warning) 45%,var(--panel))}
.row.changed:not(.bad,.good,.warning){border-left-color:var(--link)}.row.added:not(.bad,.good,.warning){border-left:3px dotted var(--soft)}.row.left-out>*:not(.head,.why){opacity:.999;color:var(--soft)}
.row:target,.row:has(>span:target){outline:2px solid var(--link);outline-offset:-2px}
.head{display:flex;flex-wrap:wrap;gap:.1rem .55rem;align-items:baseline}.head .at{font-variant-numeric:tabular-nums;color:var(--soft);min-width:1.4rem}
.head .role{font-weight:600}.head .name,.head .maker,.head .tokens{font-size:13px;color:var(--soft);overflow-wrap:anywhere}.head .tokens{margin-left:auto;white-space:nowrap}
.text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;margin-top:.2rem;max-width:75ch}.failed .text{color:var(--bad-ink)}
.thought{color:var(--soft);border-left:2px solid var(--line);padding-left:.7rem}.part{margin-top:.5rem}
.call{margin:.35rem 0 0;padding:.35rem .6rem;background:var(--sunk);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
del{background:var(--bad);color:var(--bad-ink);text-decoration:line-through}ins{background:var(--good);color:var(--good-ink);text-decoration:none}
figure{margin:.4rem 0 0}img{max-width:100%;max-height:20rem;border:1px solid var(--line);border-radius:6px}
.why{display:grid;gap:.15rem;margin-top:.35rem;font-size:13px;color:var(--soft)}
.ids{margin-top:.2rem;font-size:12px;color:var(--soft);overflow-wrap:anywhere}.ids summary{color:var(--soft);padding:.1rem .2rem}.head .ids{margin:0}.head .ids[open]{flex-basis:100%}.ids .mono{font-size:12px}
.fold>summary{padding:.55rem 1.15rem;background:var(--sunk);color:var(--soft);border-bottom:1px solid var(--line)}
.tree ul{padding-left:1.4rem}.tree li{padding:.15rem 0}.findings{display:grid;gap:.8rem;margin-top:.5rem}.findings li{display:grid;gap:.15rem}.copy{user-select:all;background:var(--sunk);padding:.1rem .4rem;border-radius:5px}
`;

const NARROW = `
@media screen and (max-width:56rem){
main{padding:.8rem .8rem 3rem}.top{padding:.7rem .9rem}.panel{padding:.7rem .9rem}
.thread{grid-template-columns:minmax(0,1fr)}.content,.rail{grid-column:1;grid-row:auto}.rail{position:static;max-height:none}.tools a.narrow{display:inline-block}
.threads,.threads tbody,.threads tr,.threads th,.threads td{display:block}.threads thead{position:absolute;clip-path:inset(50%)}
.threads{border:0;background:none}.threads tr{background:var(--panel);border:1px solid var(--line);border-radius:10px;margin-bottom:.75rem;padding:.4rem 0}
.threads tbody th{min-width:0;max-width:none}.threads th,.threads td{border:0;padding:.25rem .9rem}.threads td.number{text-align:left}
.threads td,.threads td.number{padding-left:8.4rem}.threads td::before{content:attr(data-label);display:inline-block;min-width:7.5rem;margin-left:-7.5rem;font-size:13px;color:var(--soft)}
.story dl>div{grid-template-columns:minmax(0,1fr)}.row{padding:.55rem .8rem .6rem}.row.result{padding-left:1.6rem}
form.panel,.panel form{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr)}form.panel label:first-child,form.panel p{grid-column:1/-1}.panel input,.panel select,.panel button{width:100%}
.threads .title{display:inline-block;margin-bottom:.1rem}
}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{@page{margin:1.2cm}body{background:none;font-size:11pt}main{padding:0}.top{position:static;padding:0 0 .5rem}.rail,.tools,form.panel,.skip,.pages>:not(.printed),.ids,button{display:none}.printed.only{display:inline}.panel::details-content{content-visibility:visible;block-size:auto}.thread{display:block}.row,.panel,.threads tr{break-inside:avoid}.chip{box-shadow:inset 0 0 0 1px currentColor}.threads th,.threads td{padding:.4rem .5rem}.threads td.number{white-space:normal}}
`;

const STYLES = `${COLOURS}${BASE}${LIST}${THREAD}${NARROW}`.replaceAll(/\n+/g, "\n");

/** Seconds between two loads of a page that follows a run. */
const RELOAD_AFTER = 5;

/**
 * What a page cannot do alone. Without it, only folds close when a page follows a run.
 *
 * - A place in a fold is opened when a link leads to it.
 * - A button copies a text.
 * - What follows a run is loaded again, and its folds and the focus stay.
 */
const SCRIPT = `
const folds = () => [...document.querySelectorAll("details")];
const nameOf = (fold) => {
  const place = fold.closest("[id]:not(main)") ?? fold.querySelector("[id]");
  return (place?.id ?? "") + fold.firstElementChild.textContent.replace(/[\\d,]+/g, "");
};
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target?.scrollIntoView();
};
const showButtons = () => {
  if (navigator.clipboard) for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
};
const parts = (page) => [...page.querySelectorAll("header, [data-part]")];
let loaded = parts(document).map((part) => part.innerHTML);
const follow = async () => {
  const response = await fetch(location.href);
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const focused = document.activeElement.closest("summary")?.parentElement;
  const [opened, focusedName] = [folds().filter(({ open }) => open).map(nameOf), focused && nameOf(focused)];
  const fresh = parts(page).map((part) => part.innerHTML);
  const pairs = parts(page).map((part, index) => [part, parts(document)[index]]);
  for (const [index, [next, part]] of pairs.entries())
    if (fresh[index] !== loaded[index]) part.replaceChildren(...next.childNodes);
  loaded = fresh;
  for (const fold of folds()) {
    if (opened.includes(nameOf(fold))) fold.open = true;
    if (nameOf(fold) === focusedName) fold.firstElementChild.focus({ preventScroll: true });
  }
  showButtons();
  if (!page.querySelector("[data-live]")) clearInterval(following);
};
const following = document.querySelector("[data-live]") && setInterval(() => follow().catch(() => {}), ${RELOAD_AFTER * 1_000});
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const { copy, from } = button.dataset;
  await navigator.clipboard.writeText(from ? await (await fetch(from)).text() : copy);
  button.textContent = "Copied";
});
addEventListener("hashchange", reveal);
showButtons();
reveal();
`;

const hashed = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The browser runs the one script of the page, and asks no other server. */
const POLICY = [
  "default-src 'none'",
  `style-src ${hashed(STYLES)}`,
  `script-src ${hashed(SCRIPT)}`,
  "connect-src 'self'",
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Every response's headers. A response shows somebody's conversation, so nobody keeps it. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** A page. Its heading stays in sight at the top, beside the link to the list. */
interface Page {
  readonly title: string;
  readonly heading: Markup;
  readonly body: Markup;
  /** Whether it follows a run, also without its script. @default false */
  readonly isLive?: boolean;
}

export function layout({ title, heading, body, isLive = false }: Page): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · tether</title>
<link rel="icon" href="data:,">
<style>${new Markup(STYLES)}</style>
${isLive && html`<noscript><meta http-equiv="refresh" content="${RELOAD_AFTER}"></noscript>`}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><nav aria-label="Inspector"><a class="brand" href="${listLink()}">tether</a></nav>${heading}</header>
<main id="content" tabindex="-1">${body}</main>
<script>${new Markup(SCRIPT)}</script>
</body>
</html>`;
}

/*
 * Small parts of the pages.
 */

/** A word with a colour. The word says what the colour says. */
export const chip = (word: string, tone = "neutral"): Markup =>
  html`<span class="chip ${tone}">${word}</span>`;

/** A text with a button that copies it. */
export const copied = (text: string): Markup =>
  html`<code class="copy">${text}</code> <button type="button" class="small" data-copy="${text}" hidden>Copy</button>`;

/** A link to a text, with a button that copies it. */
export const copiedFrom = (address: string, name: string): Markup =>
  html`<a href="${address}">${name}</a> <button type="button" class="small" data-copy data-from="${address}" hidden>Copy</button>`;

/** A part of a page that is loaded again. @param isLive Whether it follows a run. */
export const part = (body: Markup, isLive: boolean): Markup =>
  html`<div data-part${isLive && html` data-live`}>${body}</div>`;

const OUTCOMES: Readonly<Record<string, readonly [word: string, tone: string]>> = {
  sound: ["sound", "good"],
  findings: ["findings", "warning"],
  unreadable: ["unreadable", "bad"],
  skipped: ["not judged", "neutral"],
};

/** @param findings How many findings are worth a look. */
export function outcomeChip(outcome: string, findings: number): Markup {
  const [word, tone] = OUTCOMES[outcome] ?? [outcome, "neutral"];
  return chip(outcome === "findings" ? amount(findings, "finding") : word, tone);
}

const STATUS_TONES: Readonly<Record<string, string>> = {
  error: "bad",
  interrupted: "warning",
  busy: "neutral",
};

/** @param knowsRuns Whether a busy thread certainly has a run. */
export const statusChip = (status: string, knowsRuns: boolean): Markup =>
  chip(status === "busy" && !knowsRuns ? "may be running" : status, STATUS_TONES[status] ?? "neutral");

/** The options of a choice. */
export const options = (names: readonly string[], chosen: string | undefined): readonly Markup[] =>
  names.map((name) => html`<option value="${name}"${name === chosen && html` selected`}>${name}</option>`);

/** With commas between them. @param last What is before the last one. */
export const joined = (parts: readonly (Markup | string)[], last = ", "): readonly Markup[] =>
  parts.map((part, index) => html`${index > 0 && (index === parts.length - 1 ? last : ", ")}${part}`);

/** The first of them, and how many more there are. */
export const joinedFirst = (parts: readonly (Markup | string)[], most: number): Markup =>
  html`${joined(parts.slice(0, most))}${parts.length > most && ` and ${count(parts.length - most)} more`}`;

/** Texts of the library have code between backticks. */
export const codeSpans = (text: string): readonly (Markup | string)[] =>
  text.split(/`([^`]*)`/).map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));

/** How long ago it was, with the exact time as its title. @param now In milliseconds. */
export const time = (iso: string | null | undefined, now: number): Markup =>
  iso == null || timeText(iso) === ""
    ? html`<span class="soft">unknown</span>`
    : html`<time datetime="${iso}" title="${timeText(iso)}">${ago(now - Date.parse(iso))}</time>`;

/** Only web addresses are links: a rule's source never comes from a message. */
export const sourceLink = (source: string | null): Markup | string =>
  source !== null && /^https?:\/\//.test(source)
    ? html` <a href="${source}" rel="noreferrer noopener">Source</a>`
    : "";

/*
 * The addresses of the pages.
 */

export const HOME = "/tether";

export const listLink = (query: ListQuery = {}): string => `${HOME}${queryText(query)}`;
export const listJsonLink = (query: ListQuery): string => `${HOME}/threads.json${queryText(query)}`;

export const threadLink = (threadId: string, query: ThreadQuery = {}): string =>
  `${HOME}/threads/${encodedId(threadId)}${queryText(query)}`;
export const threadJsonLink = (threadId: string, { only: _, q: __, ...query }: ThreadQuery): string =>
  `${HOME}/threads/${encodedId(threadId)}.json${queryText(query)}`;

/** The thread in LangSmith's Studio. @param server Its LangGraph server, which the browser reaches. */
export const studioLink = (threadId: string, server: string): string =>
  `https://smith.langchain.com/studio/thread/${encodeURIComponent(threadId)}${queryText({ baseUrl: server })}`;

/** An id can end like the JSON address: a file's thread is named after it. */
function encodedId(threadId: string): string {
  return encodeURIComponent(threadId).replace(/\.json$/, "%2Ejson");
}

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/*
 * Numbers and times as people read them.
 */

const LONGEST_SENTENCE = 1_000;

/** `2 minutes ago`. A page that follows a run does not change each second. */
const ago = (milliseconds: number): string =>
  milliseconds < 60_000 ? "just now" : `${spanText(milliseconds)} ago`;

const sizes = new Intl.NumberFormat("en", {
  notation: "compact",
  style: "unit",
  unit: "byte",
  unitDisplay: "narrow",
  maximumFractionDigits: 1,
});

/** `1.2KB`. */
export const bytes = (value: number): string => sizes.format(value);

/** `2026-11-22 23:38:59 UTC`. */
export function timeText(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A sentence about a message. Clients and models choose the ids and names in it. */
export function sentence(text: string): string {
  return printableLine(shortened(text, LONGEST_SENTENCE));
}
