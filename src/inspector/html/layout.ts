/** What all pages have. */

import { createHash } from "node:crypto";
import type { Finding } from "../../doctor/finding.js";
import { printableLine } from "../../shared/text.js";
import type { Mark } from "../view/rows.js";
import type { DialectSoundness } from "../view/thread-view.js";
import { html, Markup } from "./markup.js";

/*
 * The style sheet. System fonts, two columns, and one on a narrow screen.
 */

/** Each colour of a text has a contrast of at least 4.5 to 1 on each ground that it stands on. */
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
main{max-width:92rem;margin:0 auto;padding:1.25rem 1.5rem 4rem}main:focus{outline:none}
a{color:var(--link);text-underline-offset:.15em;text-decoration-thickness:1px}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:3px}
h1,h2{margin:0;font-weight:600;line-height:1.3;text-wrap:balance}h1{font-size:1.05rem}h2{font-size:1rem}
p,ul,ol,dl,dd{margin:0;padding:0}p,li,code{overflow-wrap:anywhere}ul,ol{list-style:none}
code,.mono{font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
.soft{color:var(--soft)}.small{font-size:13px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;z-index:9;background:var(--panel);padding:.5rem .75rem}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.top{position:sticky;top:0;z-index:3;display:flex;align-items:baseline;gap:.75rem;min-height:3rem;padding:.7rem 1.5rem;background:var(--panel);border-bottom:1px solid var(--line)}
.top h1{min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.brand{font-weight:700;color:var(--ink);text-decoration:none}.brand::after{content:"/";margin-left:.75rem;color:var(--soft);font-weight:400}
.panel{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:1rem 1.15rem;margin-bottom:1rem}
.chip{display:inline-block;padding:.05rem .5rem;border-radius:8px;font-size:12.5px;line-height:1.5;font-weight:400;overflow-wrap:anywhere}
.chip{background:var(--neutral);color:var(--neutral-ink)}
.chip.good{background:var(--good);color:var(--good-ink)}.chip.warning{background:var(--warning);color:var(--warning-ink)}.chip.news{background:none;color:var(--link);box-shadow:inset 0 0 0 1px currentColor}.chip.bad{background:var(--bad);color:var(--bad-ink)}
.dialects{font-size:13px;font-weight:400}.dialects+.dialects{margin-top:.3rem}
form{display:flex;flex-wrap:wrap;gap:.75rem 1rem;align-items:end}
label{display:grid;gap:.2rem;font-size:13px;color:var(--soft);min-width:0}
input,select,button{font:inherit;font-size:14px;color:var(--ink);background:var(--panel);border:1px solid #8a8f98;border-radius:7px;padding:.4rem .6rem;max-width:100%;min-height:2.4rem}
button{background:var(--link);border-color:var(--link);color:var(--panel);font-weight:600;cursor:pointer;padding-inline:1.1rem}
.pages{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem;margin:1rem 0;align-items:baseline}
details>summary{cursor:pointer;color:var(--link)}
`;

const LIST = `
.threads{width:100%;border-collapse:collapse;background:var(--panel);border:1px solid var(--line);border-radius:10px;border-spacing:0}
.threads th,.threads td{padding:.7rem .8rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
.threads thead th{font-size:13px;font-weight:600;color:var(--soft)}.threads tbody th{font-weight:400;max-width:24rem}
.threads tbody tr:last-child>*{border-bottom:0}.threads td.number,.threads th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.threads td .chip{white-space:nowrap}.threads .title{font-weight:600;overflow-wrap:anywhere}.threads .mono{display:block;color:var(--soft);font-size:12px;overflow-wrap:anywhere}
`;

const THREAD = `
.facts{display:flex;flex-wrap:wrap;gap:.5rem 1.75rem;margin-top:.9rem}.facts div{min-width:0}.facts dt{font-size:13px;color:var(--soft)}.facts dd{font-weight:600;overflow-wrap:anywhere}.facts dd .chip,.facts dd .soft{font-weight:400}
.marks{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem}.marks li{display:flex;flex-wrap:wrap;gap:.2rem .5rem;align-items:baseline}
.columns,.row{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr)}
.columns{position:sticky;top:3rem;z-index:2;background:var(--sunk);border:1px solid var(--line);font-size:14px}
.columns h2{padding:.5rem 1.15rem;font-size:14px}.columns span{font-weight:400;color:var(--soft)}
.rows{background:var(--panel);border:1px solid var(--line);border-top:0;border-radius:0 0 10px 10px}
.row{border-bottom:1px solid var(--line)}.rows>:last-child,.fold .row:last-child{border-bottom:0}
.cell{padding:.7rem 1.15rem .8rem;min-width:0}.cell+.cell{border-left:1px solid var(--line)}
.cell:target{box-shadow:inset 3px 0 0 var(--link)}.none{color:var(--soft)}
.head{display:flex;flex-wrap:wrap;gap:.1rem .55rem;align-items:baseline}.head .at{font-variant-numeric:tabular-nums;color:var(--soft);min-width:1.4rem}
.head .role{font-weight:600}.head .name,.head .maker,.head .tokens{font-size:13px;color:var(--soft);overflow-wrap:anywhere}.head .tokens{margin-left:auto;white-space:nowrap}
.text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;margin-top:.25rem}.error .text{color:var(--bad-ink)}
.thought{color:var(--soft);border-left:2px solid var(--line);padding-left:.7rem}
.call{display:block;margin-top:.35rem;padding:.35rem .6rem;background:var(--sunk);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
.why{display:grid;gap:.15rem;margin-top:.35rem;font-size:13px;color:var(--soft)}.same{color:var(--soft)}
.ids{margin-top:.3rem;font-size:12px;color:var(--soft);overflow-wrap:anywhere}
.fold>summary{padding:.6rem 1.15rem;background:var(--sunk)}.fold{border-bottom:1px solid var(--line)}
.findings{display:grid;gap:.8rem}.findings li{display:grid;gap:.15rem}.gone{display:grid;gap:.4rem;margin-top:.5rem}
`;

const NARROW = `
@media (max-width:56rem){
main{padding:1rem .9rem 3rem}.top{padding:.7rem .9rem}.panel{padding:.9rem}
.threads,.threads tbody,.threads tr,.threads th,.threads td{display:block}.threads thead{position:absolute;clip-path:inset(50%)}
.threads{border:0;background:none}.threads tr{background:var(--panel);border:1px solid var(--line);border-radius:10px;margin-bottom:.75rem;padding:.4rem 0}
.threads tbody th{max-width:none}.threads th,.threads td{border:0;padding:.25rem .9rem}.threads td.number{text-align:left}
.threads td::before{content:attr(data-label);display:inline-block;min-width:7.5rem;font-size:13px;color:var(--soft)}.threads td:has(.dialects)::before{display:block}
.columns{display:none}.rows{border-top:1px solid var(--line);border-radius:10px}
.row{grid-template-columns:minmax(0,1fr);border-bottom:6px solid var(--ground)}.cell+.cell{border-left:0;border-top:1px solid var(--line)}
.cell::before{content:attr(data-column);display:block;font-size:12px;color:var(--soft);margin-bottom:.1rem}.cell.empty{display:none}
.cell{padding:.6rem .9rem .7rem}
form{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr)}form label:first-child,form p{grid-column:1/-1}input,select,button{width:100%}
.threads .title{display:inline-block;margin-bottom:.1rem}
}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{.top,.columns{position:static}}
`;

const STYLES = `${COLOURS}${BASE}${LIST}${THREAD}${NARROW}`.replaceAll(/\n+/g, "\n");

/** The page has no script, and the browser runs none: every other source is refused. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLES).digest("base64")}'`,
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers of every response. What it shows is somebody's conversation, so nobody keeps it. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

interface Frame {
  readonly title: string;
  /** What stays in sight at the top, beside the link to the list. */
  readonly heading: Markup;
  readonly body: Markup;
}

export function layout({ title, heading, body }: Frame): Markup {
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
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><nav aria-label="Inspector"><a class="brand" href="${listLink()}">tether</a></nav>${heading}</header>
<main id="content" tabindex="-1">${body}</main>
</body>
</html>`;
}

/*
 * Small parts of the pages.
 */

/** A word with a colour. The word says what the colour says. */
export const chip = (word: string, tone = "neutral"): Markup =>
  html`<span class="chip ${tone}">${word}</span>`;

export const chips = (marks: readonly Mark[]): readonly Markup[] =>
  marks.map(({ word, tone }) => chip(word, tone));

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

export const statusChip = (status: string): Markup => chip(status, STATUS_TONES[status] ?? "neutral");

/** Which providers would take the messages, and which would not. */
export function soundnessList(soundness: readonly DialectSoundness[]): Markup {
  if (soundness.length === 0) return html`<span class="soft">not judged</span>`;
  const sound = soundness.filter(({ broken }) => broken === 0).map(({ dialect }) => dialect);
  const faulty = soundness.filter(({ broken }) => broken > 0);
  return html`${sound.length === 0 ? "" : html`<p class="dialects">${chip("sound", "good")} ${sound.join(", ")}</p>`}${
    faulty.length === 0
      ? ""
      : html`<p class="dialects">${chip("faults", "warning")} ${faulty.map(({ dialect, broken }) => `${dialect} ${broken}`).join(", ")}</p>`
  }`;
}

export const time = (iso: string | null | undefined): Markup =>
  iso == null || timeText(iso) === ""
    ? html`<span class="soft">unknown</span>`
    : html`<time datetime="${iso}">${timeText(iso)}</time>`;

/** Only addresses of the web are links: a rule's source never comes from a message, and it stays so. */
export const sourceLink = (source: string | null): Markup | string =>
  source !== null && /^https?:\/\//.test(source)
    ? html` <a href="${source}" rel="noreferrer noopener">Source</a>`
    : "";

/** How many of the findings are more than information. */
export function worthALook(findings: readonly Finding[]): number {
  return findings.filter(({ severity }) => severity !== "info").length;
}

/*
 * The addresses of the pages.
 */

export const HOME = "/tether";

/** What the page of a thread shows. Fields that are missing have their default. */
export interface ThreadLink {
  readonly step?: string | undefined;
  readonly dialect?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly page?: number | undefined;
}

interface ListLink {
  readonly q?: string | undefined;
  readonly status?: string | undefined;
  readonly page?: number | undefined;
}

export const listLink = (query: ListLink = {}): string => `${HOME}${queryText(query)}`;
export const listJsonLink = (query: ListLink = {}): string => `${HOME}/threads.json${queryText(query)}`;

export const threadLink = (threadId: string, query: ThreadLink = {}): string =>
  `${HOME}/threads/${encodedId(threadId)}${queryText(query)}`;
export const threadJsonLink = (threadId: string, query: ThreadLink = {}): string =>
  `${HOME}/threads/${encodedId(threadId)}.json${queryText(query)}`;

/** An id can end as the address of JSON does: a thread of a file is named after it. */
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

const numbers = new Intl.NumberFormat("en");

export const count = (value: number): string => numbers.format(value);

/** `1 message`, `2 messages`. */
export const amount = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

const sizes = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `1.2K bytes`. */
export const bytes = (value: number): string => `${sizes.format(value)} bytes`;

/** `2026-11-22 23:38:59 UTC`. */
export function timeText(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A sentence about a message. It has ids and names, which clients and models choose. */
export function sentence(text: string): string {
  return printableLine(text.length > LONGEST_SENTENCE ? `${text.slice(0, LONGEST_SENTENCE)}…` : text);
}
