/** The page of one thread. */

import { quoted } from "../../doctor/command/text.js";
import { type Finding, type RepairStepKind, worthALook } from "../../doctor/finding.js";
import { OWN_PATCH } from "../../doctor/shown-state.js";
import { callsOf } from "../../history/call.js";
import { DIALECT_NAMES } from "../../providers/table/dialects.js";
import { amount, count } from "../../shared/text.js";
import { addToList } from "../../shared/values.js";
import type { Rung } from "../../threads/events.js";
import { lines, nameIn } from "../view/message-view.js";
import type { ThreadQuery } from "../view/query.js";
import type { Archives } from "../view/read-threads.js";
import type { RequestDifference } from "../view/request.js";
import { FAULT_TONES, OPEN } from "../view/rows.js";
import type { ShownStep } from "../view/steps.js";
import type { PageLink, ThreadView } from "../view/thread-view.js";
import {
  chip,
  codeSpans,
  copied,
  copiedFrom,
  joined,
  joinedFirst,
  layout,
  options,
  outcomeChip,
  part,
  sentence,
  statusChip,
  studioLink,
  threadJsonLink,
  threadLink,
  time,
  timeText,
} from "./layout.js";
import { html, type Markup } from "./markup.js";
import { goneList, type LinkTo, messageRows } from "./messages.js";

/** What the page says besides what is in the thread. */
interface About {
  /** In milliseconds. */
  readonly now: number;
  /** The beginning of the command that repairs the thread. Empty or undefined: there is none. */
  readonly repair: string | undefined;
  /** Whether the page follows a run. */
  readonly isLive: boolean;
  /** The address of the LangGraph server, for Studio. */
  readonly studio: string | undefined;
}

/** A thread's page, with its other pages' addresses. */
interface Shown extends About {
  readonly view: ThreadView;
  readonly chosen: ThreadQuery;
  /** The same page with another choice. */
  readonly link: (more: ThreadQuery) => string;
  readonly linkTo: LinkTo;
}

/** The page `/tether/threads/:id`. */
export function threadPage(
  view: ThreadView,
  archives: Archives,
  { page: _, ...chosen }: ThreadQuery,
  about: About,
): Markup {
  const { now, isLive, studio } = about;
  const { threadId, title, report, rows, difference, steps } = view;
  const link = (more: ThreadQuery) => threadLink(threadId, { ...chosen, ...more });
  const linkTo: LinkTo = (anchor) => {
    const page = view.pageOfPlace(anchor);
    return `${page === view.page.number ? "" : link({ page })}#${anchor}`;
  };
  const amongAll = (at: number) => link({ only: undefined, q: undefined, at });
  const isPart = chosen.only !== undefined || Boolean(chosen.q);
  const places = { linkTo, amongAll: isPart ? amongAll : undefined };
  const shown: Shown = { ...about, view, chosen, link, linkTo };
  const name = title === "" ? threadId : title;
  const messages = html`<div class="content">
<section class="panel story" aria-label="The thread">${story(shown)}</section>
${questionPanel(view)}${findingsPanel(shown)}${subgraphsPanel(shown)}
${tools(shown)}
<section aria-label="Messages">
${pages(shown, "Pages of messages")}
${rows.length === 0 ? html`<p class="panel">${chosen.q ? "No message has this text." : chosen.only ? "Nothing was changed." : "There are no messages."}</p>` : messageRows(rows, places, archives)}
${pages(shown, "Pages of messages, repeated")}
</section>
${difference && goneList(difference)}
${statePanel(view)}
<p class="pages"><span class="mono small soft printed">${threadId}</span><span class="printed only">${timeText(new Date(now).toISOString())}</span><a href="${threadJsonLink(threadId, chosen)}">JSON</a>${studio !== undefined && html`<a href="${studioLink(threadId, studio)}" rel="noreferrer noopener">Studio</a>`}</p>
</div>`;
  return layout({
    title: name,
    heading: html`<h1><bdi>${name}</bdi></h1><span class="hidden">Status:</span> ${statusChip(report.status, view.knowsRuns)}`,
    isLive,
    body: part(
      steps.length < 2 ? messages : html`<div class="thread">${messages}${rail(shown)}</div>`,
      isLive,
    ),
  });
}

/*
 * What is true of the thread, what happened in it, and what is sent.
 */

/** Each answer with its question. A question without an answer is left out. */
function story(shown: Shown): Markup {
  const { view } = shown;
  const { unknown, willBeClosed } = view.story;
  const verb = shown.chosen.with === undefined ? "will" : "would";
  const effect = unknown > 0 && html` <span class="soft">${UNKNOWN_EFFECT}</span>`;
  const past = storyPart(shown, [
    ["recovered", "good", "message", "was recovered", "were recovered"],
    ["closed", "warning", "call", "was closed", "were closed"],
  ]);
  const future = storyPart(shown, [
    ["willBeRecovered", "good", "result", `${verb} be recovered`],
    ["willBeClosed", "warning", "call", `${verb} be closed`],
    ["unplaced", "warning", "message", "has no place in the request", "have no place in the request"],
  ]);
  const request =
    unreadIn(view) === undefined ? moment(shown) : "No request is sent as long as the thread cannot be read.";
  const answers = [
    [
      "What is wrong",
      [unreadText(view), refusal(shown), refusedText(shown), otherRules(shown), subgraphFaults(view)],
    ],
    [
      "What happened",
      [
        errorText(view),
        stoppedText(view),
        past && html`<p>${past}.${willBeClosed.length === 0 && effect}</p>`,
      ],
    ],
    [
      "What comes next",
      [
        ownPatch(view),
        future && html`<p>${future}.${willBeClosed.length > 0 && effect}</p>`,
        html`<p>${request}</p>`,
        queuedText(view),
        sender(shown),
      ],
    ],
    ["What to do", todo(shown)],
  ] as const;
  return html`<dl>${answers.map(
    ([question, parts]) =>
      parts.some((part) => part !== false) && html`<div><dt>${question}</dt><dd>${parts}</dd></div>`,
  )}</dl>`;
}

type StoryName = Exclude<keyof ThreadView["story"], "unknown">;

/** What became of messages, in one sentence without its end, with links to them. */
function storyPart(
  { view, linkTo }: Shown,
  rows: readonly (readonly [name: StoryName, tone: string, noun: string, one: string, many?: string])[],
): Markup | false {
  const parts = rows.flatMap(([name, tone, noun, one, many = one]) => {
    const found = view.story[name];
    if (found.length === 0) return [];
    return html`<b class="${tone}-text">${amount(found.length, noun)}</b> ${found.length === 1 ? one : many} <span class="soft">(${placeLinks(found, linkTo)})</span>`;
  });
  return parts.length > 0 && html`${joined(parts, " and ")}`;
}

const UNKNOWN_EFFECT = "Whether a closed call took effect is not known.";

/** What the doctor finds that the next request meets. One that this library makes meets none of it. */
const metFindings = ({ moment: at, isMade, findings }: ThreadView): readonly Finding[] =>
  at.kind === "next" && !isMade ? findings : [];

/** The faults for which the next message may be refused. */
function refusedFaults(view: ThreadView): readonly Finding[] {
  const { nodesBefore } = view;
  const findings = metFindings(view);
  if (findings.some(({ code }) => code.startsWith("thread/"))) return [];
  const mayBePatched = (code: string) => nodesBefore.length > 0 && code.startsWith("pairing/");
  return findings.filter(
    ({ severity, code }) =>
      severity === "error" ||
      (severity === "warning" && (code === "pairing/open-call" || mayBePatched(code))),
  );
}

/** That the next message is refused, why, and in whose words. */
function refusal({ view, linkTo }: Shown): Markup | false {
  const { form, nodesBefore } = view;
  const faults = refusedFaults(view);
  if (faults.length === 0) return false;
  const isSure = nodesBefore.length === 0 || faults.some(({ severity }) => severity === "error");
  const open = faults.filter(({ code }) => OPEN.has(code));
  // The words and the places are about what is named, not about another fault.
  const named = open.length > 0 ? open : faults.slice(0, 1);
  const tools = [...new Set(open.map(({ tool }) => tool || "a call"))];
  const places = new Set(open.map(({ index }) => index));
  const calls = view.history.filter((_, index) => places.has(index)).flatMap(callsOf);
  const cut = new Set(calls.flatMap(({ id, kind }) => (kind === "invalid" ? id : [])));
  const isCut = open.some(({ callId }) => cut.has(callId ?? ""));
  const why =
    open.length > 0
      ? html`${joined(tools.map(codeName), " and ")} ${open.length === 1 ? "has" : "have"} no result${isCut && ", and arguments that cannot be parsed"}`
      : html`<bdi>${codeSpans(sentence(faults[0]?.evidence ?? "").replace(/\.$/, ""))}</bdi>`;
  const others = faults.length - named.length;
  const { dialect = null, providerSays: said = null } = named.find((one) => one.providerSays !== null) ?? {};
  const isKnown = form.origin !== "unknown" && said !== null;
  const bold = !isSure
    ? "As it is stored, the next message is refused"
    : isKnown
      ? "The provider will refuse the next message"
      : "Most providers refuse the next message";
  const words =
    said !== null &&
    html` <span class="soft">In the words of <code>${dialect}</code>: <q><bdi>${sentence(said)}</bdi></q></span>`;
  const unknown =
    !isSure &&
    html` What ${nodeNames(nodesBefore)} ${nodesBefore.length === 1 ? "does" : "do"} with the messages before the model is not known.`;
  return html`<p><b class="${isSure ? "bad" : "warning"}-text">${bold}:</b> ${why}${rowLinks(indexesOf(named), linkTo)}${others > 0 && html` <span class="soft">(and ${amount(others, "other fault")})</span>`}.${words}${unknown}</p>`;
}

/** That the provider does not take a picture or file. It is sent again with each message. */
const refusedText = ({ view: { refused }, linkTo }: Shown): Markup | false =>
  refused.length > 0 &&
  html`<p><b class="bad-text">The provider refused a picture or file</b>${rowLinks(refused, linkTo)}, and it is sent again with each message.</p>`;

/** ` (message 4)`, with a link to its row. */
const rowLinks = (indexes: readonly number[], linkTo: LinkTo): Markup | false =>
  indexes.length > 0 && html` (${placeLinks(indexes.map(placeOf), linkTo)})`;

const placeOf = (index: number): PageLink => ({
  anchor: `stored-${index + 1}`,
  label: `message ${count(index + 1)}`,
});

const indexesOf = (found: readonly Finding[]): readonly number[] => [
  ...new Set(found.flatMap(({ index }) => index ?? [])),
];

/** What ends what is wrong, or goes on with what has stopped. The thread's own agent does none of it. */
function todo(shown: Shown): readonly (Markup | false)[] {
  const { view, link, chosen } = shown;
  const { moment: at, report, isLatest, isMade, errors, stopped } = view;
  const unread = unreadIn(view);
  if (unread !== undefined) return [unread.fixes.length > 0 && html`<p>${repairText(shown)}</p>`];
  const isRefused = refusedFaults(view).length > 0;
  const mends =
    isRefused &&
    html`<p>${repairText(shown)} In the agent, <code>tetherMiddleware()</code> does this at each message. <a href="${link({ ...chosen, with: "tether" })}">Show what would be sent then</a>.</p>`;
  const lost = lostResults(view).length;
  const keeps =
    lost > 0 &&
    html`<p>A repair puts ${lost === 1 ? "the saved result" : "the saved results"} into the thread before${repairCommand(shown)}</p>`;
  const answers =
    at.kind === "waiting" &&
    html`<p>Resume the thread with an answer${at.questions.some(({ decisions }) => decisions.length > 0) && html`: <code>${RESUME}</code>, with one decision for each call`}.${!isMade && " A new message instead leaves the calls without results, and most providers refuse it."}</p>`;
  const describes =
    view.refused.length > 0 &&
    html`<p>Take it out of the thread, or choose a model that takes it. In the agent, <code>tetherMiddleware()</code> sends a sentence in its place.</p>`;
  const isOver = stopped === undefined && errors.length === 0 && report.status !== "error";
  const isStuck = isRefused || lost > 0;
  const goOn = isMade
    ? "Nothing has to be repaired. Send the next message, or run"
    : isStuck
      ? "Or run"
      : "Run";
  const again =
    isLatest &&
    at.kind === "next" &&
    chosen.with === undefined &&
    !isOver &&
    !describes &&
    html`<p>${goOn} the thread without a message, with <code>null</code> as its input: it goes on where it stopped.${view.repairedBy !== "agent" && " A tool that was started may run again."}</p>`;
  return [mends, keeps, describes, answers, again];
}

const RESUME = 'new Command({ resume: { decisions: [{ type: "approve" }] } })';

/** All that a repair does, and how it is run, or why there is none. */
function repairText(shown: Shown): Markup {
  const { namespace, channel, repairs } = shown.view;
  if (namespace !== "") return html`A repair does not write the states of subgraphs.`;
  if (channel !== "messages")
    return html`They are in the channel <code>${nameIn(channel)}</code>, which a repair does not write. <code>repairHistory</code> makes such a list sound before the graph sends it.`;
  if (repairs.length === 0)
    return html`A repair changes nothing here: your client may be about to send what is missing.`;
  const does = repairs.map(({ kind, count: times }) => REPAIRS[kind](times));
  return html`A repair ${joined(does, " and ")}${repairCommand(shown)}`;
}

const REPAIRS: Readonly<Record<RepairStepKind, (count: number) => string>> = {
  recover: (times) => `recovers ${amount(times, "message")}`,
  close: (times) => `closes ${amount(times, "call")}`,
  move: (times) => `moves ${amount(times, "result")}`,
  "take-out": (times) => `takes out ${amount(times, "message")}`,
  rewrite: (times) => `rewrites ${amount(times, "message")}`,
  replace: (times) => `replaces ${amount(times, "placeholder")}`,
  unbrick: () => "writes the thread again",
};

/** The command that shows a repair, and what it lacks. */
function repairCommand({ view: { threadId }, repair }: Shown): Markup {
  if (!repair)
    return html`. These pages do not know where the thread is stored: <code>npx langgraph-tether repair</code> needs <code>--url</code>, <code>--postgres</code> or <code>--sqlite</code>.`;
  const lacks =
    repair.includes("FILE:EXPORT") &&
    html` Name the file of your graph in place of <code>FILE:EXPORT</code>.`;
  const needsKey =
    repair.includes("--url") && html` If the server asks for a key, add <code>--api-key-env NAME</code>.`;
  return html`. It is shown first, and done with <code>--apply</code>: ${copied(`${repair} --thread ${quoted(threadId)}`)}${lacks}${needsKey}`;
}

const unreadIn = ({ report, isLatest }: ThreadView): Finding | undefined =>
  isLatest ? report.findings.find(({ code }) => code.startsWith("thread/")) : undefined;

/** That the thread cannot be read: then nothing is sent, whoever runs it. */
function unreadText(view: ThreadView): Markup | false {
  const found = unreadIn(view);
  return (
    found !== undefined &&
    html`<p><b class="bad-text">The thread could not be read.</b> <bdi>${codeSpans(sentence(found.evidence))}</bdi></p>`
  );
}

/** Where the last run stopped, if it stored no end. */
function stoppedText({ stopped, isLatest }: ThreadView): Markup | false {
  if (stopped === undefined || !isLatest) return false;
  const { nodes } = stopped;
  return html`<p><b class="warning-text">The last run stopped${nodes.length > 0 && html` before the end of ${nodeNames(nodes)}`}.</b> It stored no error: it was killed, cancelled or drained.</p>`;
}

/** Rules besides pairing, and the window: only what is sent as it is stored meets them. */
function otherRules({ view, linkTo }: Shown): Markup | false {
  const { moment: at, isMade, totals, form } = view;
  const broken = metFindings(view).filter(
    ({ code, severity }) => severity !== "info" && /^(?:content|order)\//.test(code),
  );
  const [first] = broken;
  const { maxTokens } = form.options;
  const isOver = at.kind === "next" && !isMade && maxTokens !== undefined && totals.tokens > maxTokens;
  if (first === undefined && !isOver) return false;
  const rules =
    first &&
    html`<p><b class="warning-text">${amount(broken.length, "message or value")} ${broken.length === 1 ? "breaks" : "break"} another rule${first.dialect !== null && html` of <code>${first.dialect}</code>`}</b> (${joined([...new Set(broken.map(({ code }) => code))].slice(0, MOST_PLACES).map((code) => html`<code>${code}</code>`))})${rowLinks(indexesOf(broken), linkTo)}: ${first.providerSays === null ? codeSpans(sentence(first.evidence)) : html`<q><bdi>${sentence(first.providerSays)}</bdi></q>`}</p>`;
  const over =
    isOver &&
    html`<p><b class="bad-text">The request is too long:</b> about ${amount(totals.tokens, "token")}, and the model accepts ${count(maxTokens)}.</p>`;
  return html`${rules}${over}`;
}

const codeName = (name: string): Markup => html`<code><bdi>${nameIn(name)}</bdi></code>`;
const nodeNames = (nodes: readonly string[]): Markup => html`${joined(nodes.map(codeName))}`;

/** What the patch of deepagents does with open calls, and what it loses. */
function ownPatch(view: ThreadView): Markup | false {
  if (!view.nodesBefore.includes(OWN_PATCH)) return false;
  const patched = metFindings(view).filter(
    ({ code, severity }) => OPEN.has(code) && severity === "info",
  ).length;
  if (patched === 0) return false;
  const lost = lostResults(view);
  return html`<p>With the next message, the agent's own patch gives ${amount(patched, "call")} a result that says that the call was cancelled.${lost.length > 0 && html` <b class="warning-text">The saved ${lost.length === 1 ? "result" : "results"} of ${nodeNames([...new Set(lost.map(({ tool }) => tool ?? "a tool"))])} ${lost.length === 1 ? "is" : "are"} lost then.</b>`}</p>`;
}

/** The saved results that the patch of deepagents does not use. */
const lostResults = (view: ThreadView): readonly Finding[] =>
  metFindings(view).filter(
    ({ code, severity }) =>
      code === "state/pending-result" && severity === "warning" && view.nodesBefore.includes(OWN_PATCH),
  );

/** Runs that a server has accepted, and not begun. */
const queuedText = ({ queued, isLatest }: ThreadView): Markup | false =>
  isLatest &&
  queued > 0 &&
  html`<p>${amount(queued, "run")} of the thread ${queued === 1 ? "waits" : "wait"} for ${queued === 1 ? "its" : "their"} turn.</p>`;

/** Who sends the thread's messages, and what is unknown about that. */
function sender({ view, chosen, link }: Shown): Markup | false {
  const { repairedBy, isMade, moment: at, knowsSettings } = view;
  if (at.kind !== "next" && at.kind !== "asked") return false;
  const text = (): Markup | string => {
    if (chosen.with !== undefined && (repairedBy === undefined || repairedBy === "nobody"))
      return html`This is what <code>tetherMiddleware()</code> would send. <a href="${link({ with: undefined })}">Show what is sent without it</a>.`;
    if (repairedBy === undefined)
      return "Which agent runs this thread is not known. Its messages are shown as they are stored, and an agent can change them on their way.";
    if (!isMade)
      return "No part of langgraph-tether is in the graph of this thread. Its messages are shown as they are stored, and its nodes and middleware can change them on their way.";
    if (repairedBy === "field")
      return html`The graph has the messages field of langgraph-tether. This is what <code>askModel</code> and <code>toModelInput</code> send. A node that sends <code>state.messages</code> itself sends them as they are stored.`;
    const unseen = view.knowsRuns && at.kind === "next" ? ` ${UNSEEN_ON_SERVER}` : "";
    return knowsSettings
      ? unseen.trim()
      : `The settings of the agent are not known here: its system prompt, its tools, its limits, and when it writes a summary.${unseen}`;
  };
  const told = text();
  return told !== "" && html`<p class="soft small">${told}</p>`;
}

const UNSEEN_ON_SERVER =
  "A server does not show results that came after the end of their run, or text of a response that was cut: if there are any, the next request has them too.";

/** The most places of one kind that are linked. */
const MOST_PLACES = 6;

function placeLinks(found: readonly PageLink[], linkTo: LinkTo): Markup {
  const links = found.map(({ anchor, label }) => html`<a href="${linkTo(anchor)}"><bdi>${label}</bdi></a>`);
  return joinedFirst(links, MOST_PLACES);
}

function moment({ view, link, now }: Shown): Markup {
  const { moment: at, totals, step, difference, form, isMade, summary, errors } = view;
  const [messages, tokens] = [amount(totals.sent, "message"), amount(totals.tokens, "token")];
  const without = ["system prompt", "tools"].filter(
    (part) => part === "tools" || form.options.systemPrompt === undefined,
  );
  const size = html`<b>${messages}</b>${!isMade && " as stored"}, about <b>${tokens}</b>${!totals.isReported && html` <span class="soft">without the ${without.join(" and the ")}</span>`}`;
  const cache = difference && html` ${prefixText(difference, link)}`;
  const reduced =
    form.reduced && html` It is reduced: ${form.reduced.map((rung) => REDUCED[rung]).join("; ")}.`;
  switch (at.kind) {
    case "next": {
      const provider =
        isMade && form.origin !== "unknown" && html`, for <code>${form.options.dialect}</code>`;
      if (summary !== undefined)
        return html`<b>A summary is due.</b> With the next message, a model is first asked to summarise <b>${amount(summary.covered.length, "message")}</b>. The request for the response then has the summary and what it does not cover, about ${amount(summary.kept.length, "message")}. If no summary comes, it has ${size}${provider}.${reduced}`;
      return html`The next request has ${size}${provider}.${reduced}${cache}`;
    }
    case "asked": {
      if (step?.asksModel !== true) return html`A request of this step would have had ${size}.${cache}`;
      if (step.response === null) {
        const isAsking = view.isLatest && view.report.status === "busy";
        if (!isAsking && errors.length === 0)
          return html`The run ended here without a response. If the model was asked, its request had ${size}.${reduced}${cache}`;
        const unstored =
          view.repairedBy === "middleware" &&
          !isAsking &&
          " If tetherMiddleware summarised the messages in this step, that is not stored.";
        const isAskedNow = view.knowsRuns ? "is being asked" : "may be being asked";
        const may =
          isAsking && !view.knowsRuns && view.mayRun !== undefined && html`${mayRunText(view.mayRun)} `;
        return html`${may}The model ${isAsking ? isAskedNow : "was asked"} with ${size}.${unstored}${reduced}${cache}`;
      }
      const { provider, model, inputTokens, cachedTokens, outputTokens } = step.response;
      const by = [provider, model].map(nameIn).filter(Boolean).join(" · ");
      const cached = cachedTokens !== null && `, ${count(cachedTokens)} of them from its cache`;
      const output = outputTokens !== null && ` and ${count(outputTokens)} of the response`;
      const counted =
        inputTokens !== null &&
        html` The provider counted ${amount(inputTokens, "token")} of the request${cached}${output}.`;
      const told = inputTokens === null ? size : html`<b>${messages}</b>${!isMade && " as stored"}`;
      return html`The model was asked with ${told}${by !== "" && html`: <bdi>${by}</bdi>`}.${counted}${reduced}${cache}`;
    }
    case "waiting":
      return html`The thread waits for a human${waitsFor(at)}. The model is not asked now.`;
    case "running":
      if (!view.knowsRuns && view.mayRun !== undefined) return html`${mayRunText(view.mayRun)}`;
      return html`A run is running${at.nodes.length > 0 && `: ${at.nodes.join(", ")}`}. This step began ${time(at.since, now)}. Nothing is sent to the model now. The page loads again by itself; this is the thread at ${timeText(new Date(now).toISOString())}.`;
    case "silent":
      if (view.history.length > 0)
        return step?.next.includes("summarize")
          ? html`At this step a model was asked for a summary. That request is not stored.`
          : html`The model was not asked at this step.`;
      return notJudgedText(view.report) ?? html`The thread is empty.`;
  }
}

/** The tools that a human is asked about, or the nodes before which the graph stops. */
function waitsFor({ questions, nodes }: ThreadView["moment"] & { readonly kind: "waiting" }): Markup | false {
  if (questions.length === 0) return html` before ${nodes.map(nameIn).join(", ")}`;
  const tools = [...new Set(questions.flatMap(({ tool }) => tool || []))];
  return tools.length > 0 && html` about ${nodeNames(tools)}`;
}

/** Why a thread without shown messages is not called empty. */
function notJudgedText({ outcome, findings }: ThreadView["report"]): Markup | undefined {
  if (outcome !== "unreadable" && outcome !== "skipped") return undefined;
  const said = findings.find(({ code }) => /^thread\/|^state\/no-/.test(code));
  return html`${codeSpans(sentence(said?.evidence ?? "The messages cannot be read."))}`;
}

/** What a database says of a run: nothing for certain. */
const mayRunText = (mayRun: string): Markup =>
  html`<b>${codeSpans(mayRun)}</b> The messages were not judged. If no run is going on, they are judged after some quiet: ten minutes, or what <code>--quiet-for</code> says.`;

/** How a request is reduced after its provider has refused another. */
const REDUCED: Readonly<Record<Rung, string>> = {
  shortened: "it was too long, so a part of it is sent",
  counted: "the provider has refused more of something, such as pictures or calls",
  described: "sentences stand in the place of pictures and files that the provider has refused",
  strict: "all providers accept it",
  retold: "one text tells what lies before the current turn",
};

function prefixText({ to, counts, isPrefixKept, prefix }: RequestDifference, link: Shown["link"]): Markup {
  const words = [
    `${count(counts.new)} new`,
    `${count(counts.changed)} changed`,
    `${count(counts.gone)} not sent any more`,
  ];
  return html`<span class="soft">Since <a href="${link({ step: to?.checkpointId })}">the request before</a>: ${words.filter((word) => !word.startsWith("0 ")).join(", ") || "no change"}${!isPrefixKept && `; the same up to message ${count(prefix)}, where a prompt cache ends`}.</span>`;
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
  if (errors.length > 0) {
    const isCancelled = errors.every((error) => error.isCancelled);
    const told = errors.map(
      ({ node, text }) =>
        html` <span class="soft"><bdi>${nameIn(node)}</bdi>: <bdi>${sentence(text)}</bdi></span>`,
    );
    const run = isLatest ? "The last run" : "The run of this step";
    return html`<p><b class="bad-text">${run} ${isCancelled ? "was cancelled" : "failed"}.</b>${!isCancelled && told}</p>`;
  }
  return (
    isLatest &&
    report.status === "error" &&
    html`<p><b class="bad-text">The last run failed</b>, and the thread does not say why. The log of its server does.</p>`
  );
}

/** One entry for all findings that say the same and have the same fix. */
function findingsPanel({ view, linkTo, chosen, repair }: Shown): Markup | false {
  const { report, rows, threadId, findings, isLatest, isMade } = view;
  if (findings.length === 0) return false;
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const { code, severity, dialect, fixes } = finding;
    addToList(groups, [code, severity, dialect, ...fixes.map(({ kind }) => kind)].join(" "), finding);
  }
  const errors = worthALook(findings);
  const isHere = isLatest && report.status !== "interrupted" && (isMade || chosen.with !== undefined);
  const command =
    repair &&
    isHere &&
    view.namespace === "" &&
    errors > 0 &&
    html`<p class="small">Show what a repair would do: ${copied(`${repair} --thread ${quoted(threadId)}`)}</p>`;
  const mark = errors > 0 ? chip(amount(errors, "finding"), "warning") : chip("for information");
  return html`<details class="panel"${rows.length === 0 && html` open`}><summary>What the doctor finds${!isLatest && " in the messages of this step"}: ${mark} <span class="small soft">${[...new Set(findings.map(({ code }) => code))].join(", ")}</span></summary><ul class="findings">${[
    ...groups.values(),
  ].map((group) => groupEntry(group, linkTo))}</ul>${command}</details>`;
}

function groupEntry(group: readonly Finding[], linkTo: LinkTo): Markup | false {
  const [first] = group;
  if (first === undefined) return false;
  const { code, severity, evidence, providerSays, fixes } = first;
  const found = indexesOf(group).map(placeOf);
  return html`<li><p class="head">${chip(severity, FAULT_TONES[severity])}<code>${code}</code>${found.length > 0 && html`<span class="small">${placeLinks(found, linkTo)}</span>`}</p><p><bdi>${codeSpans(sentence(evidence))}</bdi>${group.length > 1 && html` <span class="soft">And ${count(group.length - 1)} like it.</span>`}</p>${
    providerSays !== null &&
    html`<p class="small soft">Such a request is refused: <bdi>${sentence(providerSays)}</bdi></p>`
  }${fixes.map(({ description }) => html`<p class="small soft">${codeSpans(description)}</p>`)}</li>`;
}

/** That a subgraph's own messages have faults: it sends them when it runs next. */
function subgraphFaults({ subgraphs, namespace: shown, threadId }: ThreadView): Markup | false {
  const faulty = subgraphs.filter(
    ({ isKept, report }) => shown === "" && isKept && report.outcome !== "sound",
  );
  if (faulty.length === 0) return false;
  return html`${faulty.map(({ namespace, report: { findings } }) => {
    const said = findings.find(({ severity }) => severity !== "info") ?? findings.at(-1);
    return html`<p><b class="warning-text">In the subgraph <a href="${threadLink(threadId, { ns: namespace })}"><bdi>${nameIn(namespace)}</bdi></a>:</b> ${codeSpans(sentence(said?.evidence ?? ""))} It sends its own messages when it runs next.</p>`;
  })}`;
}

/** The states of subgraphs below one another, such as those of sub-agents, and the way back from one of them. */
function subgraphsPanel({ view: { namespace, subgraphs, threadId } }: Shown): Markup | false {
  if (subgraphs.length === 0) return false;
  /** The nearest shown state above one. */
  const parentOf = (inner: string): string =>
    subgraphs
      .map((one) => one.namespace)
      .filter((outer) => inner.startsWith(`${outer}|`))
      .reduce((nearest, outer) => (outer.length > nearest.length ? outer : nearest), "");
  const below = (parent: string): Markup | false => {
    const inner = subgraphs.filter((one) => parentOf(one.namespace) === parent);
    return inner.length > 0 && html`<ul>${inner.map(entry)}</ul>`;
  };
  const entry = ({ namespace: ns, isKept, report }: (typeof subgraphs)[number]): Markup => {
    const { outcome, findings, messages } = report;
    const name = ns.slice(parentOf(ns).length).replace(/^\|/, "");
    return html`<li><a href="${threadLink(threadId, { ns })}"${ns === namespace && html` aria-current="page"`}><bdi>${nameIn(name)}</bdi></a> <span class="soft small">${messages === null ? "" : amount(messages, "message")}${isKept && ", kept from run to run"}</span> ${outcomeChip(outcome, worthALook(findings))}${below(ns)}</li>`;
  };
  return html`<section class="panel tree"><h2>Subgraphs and sub-agents</h2>${namespace !== "" && html`<p>This is the state of the subgraph <code><bdi>${nameIn(namespace)}</bdi></code>. <a href="${threadLink(threadId)}">The thread</a></p>`}${below("")}</section>`;
}

/** The most channels that are shown. */
const MOST_CHANNELS = 40;

/** The rest of the latest state. */
function statePanel({ values, channel, isLatest }: ThreadView): Markup | false {
  const names = Object.keys(values).filter((name) => name !== channel);
  if (!isLatest || names.length === 0) return false;
  return html`<details class="panel"><summary>The rest of the state: <span class="small soft">${joinedFirst(names.map(nameIn), MOST_CHANNELS)}</span></summary><dl>${names
    .slice(0, MOST_CHANNELS)
    .map(
      (name) =>
        html`<dt><code><bdi>${nameIn(name)}</bdi></code></dt><dd><pre class="call" dir="auto">${lines(values[name])}</pre></dd>`,
    )}</dl></details>`;
}

/*
 * What else can be chosen.
 */

const ORIGINS: Readonly<Record<ThreadView["form"]["origin"], string>> = {
  chosen: "chosen",
  response: "of the step's response",
  thread: "of the latest response",
  server: "of the agent's model",
  unknown: "the provider is not known",
};

/** The messages of fewer rows are found without a search. */
const LEAST_TO_SEARCH = 8;

function tools({ view, chosen, link }: Shown): Markup {
  const { form, totals, brokenInRequest, step, steps, threadId, isLatest, page, isMade } = view;
  const { dialect } = form.options;
  const asked = steps.filter(({ asksModel, branch }) => asksModel && branch === (step?.branch ?? 1));
  const place = steps.findIndex(({ checkpointId }) => checkpointId === step?.checkpointId);
  const before = asked.find((one) => steps.indexOf(one) > place);
  const after = asked.findLast((one) => steps.indexOf(one) < place);
  const stepLink = (to: ShownStep | undefined, text: string, rel: string) =>
    to && html`<a href="${link({ step: to.checkpointId })}" rel="${rel}">${text}</a>`;
  const hidden = (fields: ThreadQuery) =>
    Object.entries(fields).map(
      ([name, value]) =>
        value !== undefined && html`<input type="hidden" name="${name}" value="${String(value)}">`,
    );
  const { only, q, ...request } = chosen;
  const ofStep = [
    ["Checkpoint", step?.checkpointId],
    ["Run", step?.runId],
    ["Graph", view.graph],
  ] as const;
  return html`<div class="tools">
<nav aria-label="Steps and changes">${steps.length > 1 && html`<a class="narrow" href="#steps">Steps</a>`}${stepLink(before, "Previous request", "prev")}${stepLink(after, "Next request", "next")}${
    !isLatest && html`<a href="${link({ step: undefined })}">Latest</a>`
  }<a href="${link({ only: only ? undefined : "changes" })}">${only ? "All messages" : "Only changes"}</a>${q && html`<a href="${link({ q: undefined })}">Without the search</a>`}</nav>
${
  (view.allRows > LEAST_TO_SEARCH || q) &&
  html`<form action="${threadLink(threadId)}" method="get" class="jump" role="search" aria-label="Messages">${hidden({ ...request, only })}<label>With the text<input type="search" name="q" value="${q}"></label><button type="submit">Find</button></form>`
}
${
  totals.stored > page.end - page.start &&
  !q &&
  html`<form action="${threadLink(threadId)}" method="get" class="jump">${hidden(request)}<label>Message<input type="number" name="at" min="1" max="${totals.stored}" required></label><button type="submit">Go</button></form>`
}
<details><summary>Request and provider</summary><div class="panel">
<form action="${threadLink(threadId)}" method="get">${hidden({ step: chosen.step, only, q, with: chosen.with, ns: chosen.ns })}
<label>Dialect<select name="dialect"><option value="">${chosen.dialect === undefined ? `${dialect} (${ORIGINS[form.origin]})` : "of the step"}</option>${options(DIALECT_NAMES, chosen.dialect)}</select></label>
${isMade && html`<label>Token limit<input type="number" name="maxTokens" min="1" step="1" size="8" value="${chosen.maxTokens}"></label>`}
<button type="submit">Show</button>
</form>
<dl class="facts">
${fact("Of the stored messages", html`${count(totals.stored)} stored, ${count(totals.leftOut)} left out, ${count(totals.changed)} changed, ${count(totals.added)} added`)}
${isMade && view.isAsked && fact("The request", brokenInRequest === 0 ? html`${chip("sound", "good")} for ${dialect}` : html`${chip(amount(brokenInRequest, "broken rule"), "bad")} of ${dialect}`)}
${view.isAsked && fact("The request as its client sends it", html`${copiedFrom(link({ as: "wire" }), "JSON")} ${copiedFrom(link({ as: "curl" }), "curl")}`)}
${fact("System prompt", form.options.systemPrompt === undefined ? "none is known" : "shown as sent")}
${view.report.checkpointId !== null && ofStep.map(([name, value]) => value && fact(name, html`<span class="mono">${nameIn(value)}</span>`))}
</dl></div></details>
</div>`;
}

const fact = (name: string, value: Markup | string): Markup =>
  html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

/** The thread's steps, latest first. A step of another branch says so. */
function rail({ view: { steps, step, report, isLatest }, link, now }: Shown): Markup {
  const [latest] = steps;
  const earliest = steps.at(-1);
  const branches = new Set(steps.map(({ branch }) => branch)).size;
  // What comes next is not a step yet. It is on the latest step's page, unless that step asked the model itself.
  const isNextApart = latest?.asksModel === true && report.status !== "busy";
  const next =
    isNextApart &&
    html`<li class="asked"><a href="${link({ step: undefined })}"${isLatest && html` aria-current="step"`}><span class="name"><b>What comes next</b></span></a></li>`;
  const entry = (one: ShownStep, index: number) => {
    const { number, title, at, response, branch, failure, findings, messages, asksModel, duration } = one;
    const facts = [
      number !== null && `step ${number}`,
      amount(messages, "message"),
      tokensOf(one) > 0 && amount(tokensOf(one), "token"),
      duration !== null && duration >= LEAST_DURATION && seconds(duration),
      response?.model,
    ];
    const isOther = branch > 1 && " branch";
    const heading =
      branches > 1 &&
      branch !== steps[index - 1]?.branch &&
      html`<li class="small soft${isOther}">${branch === 1 ? "The latest branch" : `Branch ${branch}`}</li>`;
    const marks = html`${findings !== null && findings > 0 && chip(amount(findings, "finding"), "warning")}${failure !== null && chip(failure, "bad")}`;
    return html`${heading}<li class="${asksModel ? "asked" : "other"}${isOther}"><a href="${link({ step: one === latest && !isNextApart ? undefined : one.checkpointId })}"${one.checkpointId === step?.checkpointId && !(isNextApart && isLatest) && html` aria-current="step"`}><span class="name"><b><bdi>${title}</bdi></b>${marks}<span class="soft">${time(at, now)}</span></span><span class="small soft">${facts.filter(Boolean).join(" · ")}</span></a></li>`;
  };
  const tokens = steps.reduce((sum, one) => sum + tokensOf(one), 0);
  return html`<nav class="rail" id="steps" aria-label="Steps"><h2>Steps${branches > 1 && html` <span class="small soft">${amount(branches, "branch", "branches")}</span>`}${tokens > 0 && html` <span class="small soft">${amount(tokens, "token")} in all${earliest?.parentId != null && " of these"}</span>`}</h2><ol>${next}${steps.map(entry)}</ol>${
    earliest?.parentId != null &&
    html`<p class="earlier"><a class="small" href="${link({ step: earliest.checkpointId })}">Earlier steps</a></p>`
  }</nav>`;
}

/** The request's and the response's tokens, as the provider counted them. */
const tokensOf = ({ response }: ShownStep): number =>
  (response?.inputTokens ?? 0) + (response?.outputTokens ?? 0);

/** Shorter ones say nothing, in milliseconds. */
const LEAST_DURATION = 100;

/** `0.2 s`. */
const seconds = (milliseconds: number): string =>
  `${(milliseconds / 1_000).toFixed(milliseconds < 9_950 ? 1 : 0)} s`;

/** @param label Tells the two lists of links apart for a screen reader. */
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
