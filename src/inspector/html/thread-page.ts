import { quoted } from "../../doctor/command/text.js";
import { type Finding, worthALook } from "../../doctor/finding.js";
import { DIALECT_NAMES } from "../../providers/dialects.js";
import { amount, count } from "../../shared/text.js";
import { addToList } from "../../shared/values.js";
import type { Rung } from "../../threads/events.js";
import { nameIn } from "../view/message-view.js";
import type { RequestDifference } from "../view/request.js";
import type { Step } from "../view/steps.js";
import type { Place, ThreadView } from "../view/thread-view.js";
import {
  chip,
  codeSpans,
  joined,
  layout,
  options,
  outcomeChip,
  sentence,
  statusChip,
  type ThreadLink,
  threadJsonLink,
  threadLink,
  time,
  timeText,
} from "./layout.js";
import { html, type Markup } from "./markup.js";
import { goneList, type LinkTo, messageRows } from "./messages.js";

/** A page of a thread, with the addresses of its other pages. */
interface Shown {
  readonly view: ThreadView;
  readonly chosen: ThreadLink;
  /** The same page with another choice. */
  readonly link: (more: ThreadLink) => string;
  readonly linkTo: LinkTo;
  readonly now: number;
}

/**
 * The page `/tether/threads/:id`.
 *
 * @param now In milliseconds.
 * @param repair The beginning of the command that repairs the thread. Empty or undefined: there is none.
 */
export function threadPage(
  view: ThreadView,
  { page: _, ...chosen }: ThreadLink,
  now: number,
  repair: string | undefined,
): Markup {
  const { threadId, title, report, rows, difference, steps } = view;
  const link = (more: ThreadLink) => threadLink(threadId, { ...chosen, ...more });
  const linkTo: LinkTo = (anchor) => `${link({ page: view.pageOfPlace(anchor) })}#${anchor}`;
  const shown: Shown = { view, chosen, link, linkTo, now };
  const name = title === "" ? threadId : title;
  const messages = html`<div class="content">
<section class="panel story" aria-label="What happened">${story(shown)}</section>
${questionPanel(view)}${findingsPanel(shown, repair)}
${tools(shown)}
<section aria-label="Messages">
${pages(shown, "Pages of messages")}
${rows.length === 0 ? html`<p class="panel">${chosen.only ? "Nothing was changed." : "There are no messages."}</p>` : messageRows(rows, linkTo, view.archived)}
${pages(shown, "Pages of messages, repeated")}
</section>
${difference && goneList(difference)}
<p class="pages"><span class="mono small soft">${threadId}</span><a href="${threadJsonLink(threadId, chosen)}">JSON</a></p>
</div>`;
  return layout({
    title: name,
    heading: html`<h1><bdi>${name}</bdi></h1>${statusChip(report.status)}`,
    body: steps.length < 2 ? messages : html`<div class="thread">${messages}${rail(shown)}</div>`,
  });
}

/*
 * One sentence that says what was saved, what is missing, and what is sent.
 */

function story(shown: Shown): Markup {
  const { view, linkTo } = shown;
  const { willBeRecovered, willBeClosed, recovered, closed, unplaced } = view.story;
  const part = (found: readonly Place[], tone: string, noun: string, one: string, many = one) =>
    found.length === 0
      ? []
      : html`<b class="${tone}-text">${amount(found.length, noun)}</b> ${found.length === 1 ? one : many} <span class="soft">(${placeLinks(found, linkTo)})</span>`;
  const parts = [
    part(willBeRecovered, "good", "result", "will be recovered"),
    part(willBeClosed, "warning", "call", "will be closed"),
    part(recovered, "good", "message", "was recovered", "were recovered"),
    part(closed, "warning", "call", "was closed", "were closed"),
    part(unplaced, "warning", "message", "has no place in the request", "have no place in the request"),
  ].flat();
  const listed = parts.map(
    (one, index) => html`${index > 0 && (index === parts.length - 1 ? " and " : ", ")}${one}`,
  );
  const ending = unplaced.length === 0 && "; nothing is lost";
  return html`${parts.length > 0 && html`<p>${listed}${ending}.</p>`}${errorText(view)}<p>${moment(shown)}</p>${ofOtherGraph(view)}`;
}

/** How many places of one kind are linked. */
const MOST_PLACES = 6;

function placeLinks(found: readonly Place[], linkTo: LinkTo): Markup {
  const links = found
    .slice(0, MOST_PLACES)
    .map(({ anchor, label }) => html`<a href="${linkTo(anchor)}"><bdi>${label}</bdi></a>`);
  return html`${joined(links)}${found.length > MOST_PLACES && ` and ${count(found.length - MOST_PLACES)} more`}`;
}

function moment({ view, link, now }: Shown): Markup {
  const { moment: at, totals, step, difference, form } = view;
  const size = html`<b>${amount(totals.sent, "message")}</b>, about <b>${amount(totals.tokens, "token")}</b>`;
  const cache = difference && html` ${prefixText(difference, link)}`;
  const reduced =
    form.reduced && html` It is reduced: ${form.reduced.map((rung) => REDUCED[rung]).join("; ")}.`;
  switch (at.kind) {
    case "next":
      return html`The next request has ${size}, for <code>${form.options.dialect}</code>.${reduced}${cache}`;
    case "asked": {
      if (step?.asksModel !== true) return html`A request of this step would have had ${size}.${cache}`;
      if (step.response === null)
        return html`The model ${view.isLatest ? "is being asked" : "was asked"} with ${size}.${reduced}${cache}`;
      const { provider, model, inputTokens, cachedTokens } = step.response;
      const by = [provider, model].map(nameIn).filter(Boolean).join(" · ");
      const cached = cachedTokens !== null && `, ${count(cachedTokens)} of them from its cache`;
      const counted = inputTokens !== null && html` The provider counted ${count(inputTokens)}${cached}.`;
      return html`The request had ${size}${by !== "" && html`, answered by <bdi>${by}</bdi>`}.${reduced}${counted}${cache}`;
    }
    case "waiting":
      return html`The thread waits for a human${at.questions.length === 0 && ` before ${at.nodes.join(", ")}`}. The model is not asked now.`;
    case "running":
      return html`A run goes on${at.nodes.length > 0 && `: ${at.nodes.join(", ")}`}, since ${time(at.since, now)}. Nothing is sent to the model now. This is the thread at ${timeText(new Date(now).toISOString())}; the page loads again by itself.`;
    case "silent":
      if (view.history.length > 0) return html`The model was not asked at this step.`;
      return view.report.outcome === "unreadable"
        ? html`The messages cannot be read.`
        : html`The thread is empty.`;
  }
}

/** How a request is reduced, because its provider has refused another. */
const REDUCED: Readonly<Record<Rung, string>> = {
  shortened: "it was too long, so a part of it is sent",
  counted: "the provider has refused more of something, such as pictures or calls",
  described: "sentences stand in the place of pictures and files that the provider has refused",
  strict: "it has the form that all providers accept",
  retold: "one text tells what lies before the current turn",
};

function prefixText({ to, counts, isPrefixKept, prefix }: RequestDifference, link: Shown["link"]): Markup {
  const words = [
    `${count(counts.new)} new`,
    `${count(counts.changed)} changed`,
    `${count(counts.gone)} not sent any more`,
  ];
  return html`<span class="soft">Since <a href="${link({ step: to?.checkpointId })}">the request before</a>: ${words.filter((word) => !word.startsWith("0 ")).join(", ") || "no change"}; the prompt cache ${isPrefixKept ? "fits" : `breaks after ${amount(prefix, "message")}`}.</span>`;
}

function ofOtherGraph({ mendedBy, moment: { kind }, story: { willBeClosed, willBeRecovered } }: ThreadView) {
  return (
    mendedBy === "nobody" &&
    kind === "next" &&
    willBeClosed.length + willBeRecovered.length > 0 &&
    html`<p class="soft small">The graph of this thread sends the messages as they are stored. This is what it would send with <code>tetherMiddleware</code>.</p>`
  );
}

/*
 * What a human is asked, what failed, and what the doctor finds.
 */

function questionPanel({ moment: at }: ThreadView): Markup | false {
  if (at.kind !== "waiting" || at.questions.length === 0) return false;
  return html`<section class="panel"><h2>What is asked</h2><ul class="findings">${at.questions.map(
    ({ tool, text, arguments: given, decisions }) =>
      html`<li>${tool !== "" && html`<p class="head"><b><bdi>${tool}</bdi></b></p>`}${text !== "" && html`<p class="text"><bdi>${codeSpans(text)}</bdi></p>`}${given !== "" && html`<pre class="call" dir="auto">${given}</pre>`}${decisions.length > 0 && html`<p class="small soft">Decisions: ${decisions.map((word) => chip(word))}</p>`}</li>`,
  )}</ul></section>`;
}

function errorText({ errors, report, isLatest }: ThreadView): Markup | false {
  if (errors.length > 0)
    return html`<p><b class="bad-text">The last run ended early.</b> ${errors.map(
      ({ node, text }) =>
        html`<span class="soft"><bdi>${nameIn(node)}</bdi>: <bdi>${sentence(text)}</bdi></span> `,
    )}</p>`;
  return (
    isLatest &&
    report.status === "error" &&
    html`<p><b class="bad-text">The last run failed</b>, and the thread does not say why. The log of its server does.</p>`
  );
}

const TONES: Readonly<Record<string, string>> = { error: "bad", warning: "warning" };

/** One entry for all findings that say the same and have the same fix. */
function findingsPanel({ view, linkTo }: Shown, repair: string | undefined): Markup | false {
  const { report, rows, threadId } = view;
  const { findings, outcome, status } = report;
  if (findings.length === 0) return false;
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const { code, severity, dialect, fixes } = finding;
    addToList(groups, [code, severity, dialect, ...fixes.map(({ kind }) => kind)].join(" "), finding);
  }
  const errors = worthALook(findings);
  const command =
    repair !== undefined &&
    repair !== "" &&
    errors > 0 &&
    status !== "interrupted" &&
    html`<p class="small">Show what a repair would do: <code class="copy">${`${repair} --thread ${quoted(threadId)}`}</code></p>`;
  return html`<details class="panel"${rows.length === 0 && html` open`}><summary>What the doctor finds: ${outcomeChip(outcome, errors)} <span class="small soft">${[...new Set(findings.map(({ code }) => code))].join(", ")}</span></summary><ul class="findings">${[
    ...groups.values(),
  ].map((group) =>
    groupEntry(group, linkTo),
  )}</ul>${command}<p class="small soft">docs/doctor.md explains each code.</p></details>`;
}

function groupEntry(group: readonly Finding[], linkTo: LinkTo): Markup | false {
  const [first] = group;
  if (first === undefined) return false;
  const { code, severity, evidence, providerSays, fixes } = first;
  const found = [...new Set(group.flatMap(({ index }) => index ?? []))].map((index) => ({
    anchor: `stored-${index + 1}`,
    label: count(index + 1),
  }));
  return html`<li><p class="head">${chip(severity, TONES[severity])}<code>${code}</code>${found.length > 0 && html`<span class="small">message ${placeLinks(found, linkTo)}</span>`}</p><p><bdi>${codeSpans(sentence(evidence))}</bdi>${group.length > 1 && html` <span class="soft">And ${count(group.length - 1)} like it.</span>`}</p>${
    providerSays !== null &&
    html`<p class="small soft">Such a request is refused: <bdi>${sentence(providerSays)}</bdi></p>`
  }${fixes.map(({ description }) => html`<p class="small soft">${codeSpans(description)}</p>`)}</li>`;
}

/*
 * What else can be chosen.
 */

const ORIGINS: Readonly<Record<ThreadView["form"]["origin"], string>> = {
  chosen: "chosen",
  response: "of the step's response",
  thread: "of the latest response",
  server: "of the server's model",
  unknown: "every provider",
};

function tools({ view, chosen, link }: Shown): Markup {
  const { form, totals, soundness, brokenInRequest, step, steps, threadId, isLatest, page } = view;
  const { dialect } = form.options;
  const asked = steps.filter(({ asksModel, branch }) => asksModel && branch === (step?.branch ?? 1));
  const place = steps.findIndex(({ checkpointId }) => checkpointId === step?.checkpointId);
  const before = asked.find((one) => steps.indexOf(one) > place);
  const after = asked.findLast((one) => steps.indexOf(one) < place);
  const stepLink = (to: Step | undefined, text: string, rel: string) =>
    to && html`<a href="${link({ step: to.checkpointId })}" rel="${rel}">${text}</a>`;
  const hidden = (fields: ThreadLink) =>
    Object.entries(fields).map(
      ([name, value]) =>
        value !== undefined && html`<input type="hidden" name="${name}" value="${String(value)}">`,
    );
  const { only, ...request } = chosen;
  const ofStep = [
    ["Checkpoint", step?.checkpointId],
    ["Run", step?.runId],
    ["Graph", view.graph],
  ] as const;
  return html`<div class="tools">
<nav aria-label="Steps and changes">${steps.length > 1 && html`<a class="narrow" href="#steps">Steps</a>`}${stepLink(before, "Previous request", "prev")}${stepLink(after, "Next request", "next")}${
    !isLatest && html`<a href="${link({ step: undefined })}">Latest</a>`
  }<a href="${link({ only: only ? undefined : "changes" })}">${only ? "All messages" : "Only changes"}</a></nav>
${
  totals.stored > page.end - page.start &&
  html`<form action="${threadLink(threadId)}" method="get" class="jump">${hidden(request)}<label>Message<input type="number" name="at" min="1" max="${totals.stored}" required></label><button type="submit">Go</button></form>`
}
<details><summary>Request and provider</summary><div class="panel">
<form action="${threadLink(threadId)}" method="get">${hidden({ step: chosen.step, only })}
<label>Dialect<select name="dialect"><option value="">${chosen.dialect === undefined ? `${dialect} (${ORIGINS[form.origin]})` : "of the step"}</option>${options(DIALECT_NAMES, chosen.dialect)}</select></label>
<label>Token limit<input type="number" name="maxTokens" min="1" step="1" size="8" value="${chosen.maxTokens}"></label>
<button type="submit">Show</button>
</form>
<dl class="facts">
${fact("Of the stored messages", html`${count(totals.stored)} stored, ${count(totals.leftOut)} left out, ${count(totals.changed)} changed, ${count(totals.added)} added`)}
${fact("The request", brokenInRequest === 0 ? html`${chip("sound", "good")} for ${dialect}` : html`${chip(amount(brokenInRequest, "broken rule"), "bad")} of ${dialect}`)}
${fact("System prompt", form.options.systemPrompt === undefined ? "none is known" : "shown as sent")}
${fact("If the messages were sent as stored", soundnessList(soundness))}
${view.report.checkpointId !== null && ofStep.map(([name, value]) => value && fact(name, html`<span class="mono">${nameIn(value)}</span>`))}
</dl></div></details>
</div>`;
}

const fact = (name: string, value: Markup | string): Markup =>
  html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

/** Which providers would take the messages, and which would not. */
function soundnessList(soundness: ThreadView["soundness"]): Markup {
  const sound = soundness.filter(({ broken }) => broken === 0).map(({ dialect }) => dialect);
  const faulty = soundness.flatMap(({ dialect, broken }) => (broken > 0 ? `${dialect} ${broken}` : []));
  const line = (word: string, tone: string, names: readonly string[]) =>
    names.length > 0 && html`<p class="dialects">${chip(word, tone)} ${names.join(", ")}</p>`;
  return html`${line("sound", "good", sound)}${line("faults", "warning", faulty)}`;
}

/** The steps of the thread, the latest first. A step of another branch says so. */
function rail({ view: { steps, step }, link, now }: Shown): Markup {
  const [latest] = steps;
  const earliest = steps.at(-1);
  const branches = new Set(steps.map(({ branch }) => branch)).size;
  const entry = (one: Step, index: number) => {
    const { number, next, at, response, branch, hasFailed, findings, messages, asksModel } = one;
    const nodes = [...new Set(next)].map((node) => (node === "__start__" ? "input" : node));
    const sizes = [
      amount(messages, "message"),
      response?.inputTokens != null && amount(response.inputTokens, "token"),
      response?.model,
    ];
    const isOther = branch > 1 && " branch";
    const title =
      branches > 1 &&
      branch !== steps[index - 1]?.branch &&
      html`<li class="small soft${isOther}">${branch === 1 ? "The latest branch" : `Branch ${branch}`}</li>`;
    const marks = html`${findings === 0 && html`<span class="good-text" title="sound">✓<span class="hidden"> sound</span></span>`}${findings !== null && findings > 0 && chip(amount(findings, "finding"), "warning")}${hasFailed && chip("failed", "bad")}`;
    return html`${title}<li class="${asksModel ? "asked" : "other"}${isOther}"><a href="${link({ step: one === latest ? undefined : one.checkpointId })}"${one.checkpointId === step?.checkpointId && html` aria-current="step"`}><span class="name"><b>${number !== null && `${number} `}${nodes.join(", ") || "end"}</b>${marks}<span class="soft">${time(at, now)}</span></span><span class="small soft">${sizes.filter(Boolean).join(" · ")}</span></a></li>`;
  };
  return html`<nav class="rail" id="steps" aria-label="Steps"><h2>Steps${branches > 1 && html` <span class="small soft">${amount(branches, "branch", "branches")}</span>`}</h2><ol>${steps.map(entry)}</ol>${
    earliest?.parentId != null &&
    html`<p><a class="small" href="${link({ step: earliest.checkpointId })}">Earlier steps</a></p>`
  }</nav>`;
}

/** @param label What tells the two lists of links apart for a screen reader. */
function pages({ view: { page }, link }: Shown, label: string): Markup | false {
  const { number, count: total, start, end } = page;
  const to = (wanted: number, text: string) =>
    wanted !== number &&
    wanted >= 1 &&
    wanted <= total &&
    html`<a href="${link({ page: wanted })}">${text}</a>`;
  return (
    total > 1 &&
    html`<nav class="pages" aria-label="${label}"><span>Rows ${count(start + 1)} to ${count(end)}, page ${count(number)} of ${count(total)}</span>${to(1, "First")}${to(number - 1, "Earlier")}${to(number + 1, "Later")}${to(total, "Last")}</nav>`
  );
}
