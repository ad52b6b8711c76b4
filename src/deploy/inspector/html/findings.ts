/** What the doctor finds in a thread. */

import { html } from "hono/html";
import type { Finding } from "../../../doctor/finding.js";
import { addToList } from "../../../shared/values.js";
import type { Html } from "./layout.js";
import { chip } from "./parts.js";
import { count, sentence } from "./words.js";

const TONES: Readonly<Record<string, string>> = { error: "bad", warning: "warning" };
/** How many places of one fault are linked. */
const MOST_PLACES = 20;

/** One entry for all findings that say the same. */
export function findingsPanel(
  findings: readonly Finding[],
  linkOf: (index: number) => string,
): Html | string {
  if (findings.length === 0) return "";
  const groups = new Map<string, Finding[]>();
  for (const finding of findings)
    addToList(groups, [finding.code, finding.severity, finding.dialect].join(" "), finding);
  return html`<section class="panel"><h2>What the doctor finds</h2><ul class="findings">${[
    ...groups.values(),
  ].map((group) => groupEntry(group, linkOf))}</ul></section>`;
}

function groupEntry(group: readonly Finding[], linkOf: (index: number) => string): Html | string {
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
