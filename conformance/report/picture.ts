/** The results as a picture, in light and dark. */

import { COLUMNS, describeRun, type Results, type SuiteResult } from "./results.js";
import { cellOf } from "./table.js";

const LEFT = 250;
const TOP = 92;
const COLUMN = 76;
const ROW = 34;

const STYLE = `
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .page { fill: #ffffff; }
  .none { fill: #f0f2f4; } .all { fill: #aceebb; } .most { fill: #dafbe1; } .some { fill: #fff1b8; } .few { fill: #ffd8d3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .page { fill: #0d1117; }
    .none { fill: #1c2128; } .all { fill: #1a6b33; } .most { fill: #16452a; } .some { fill: #5c4a12; } .few { fill: #67201f; }
  }`;

/** The colour says the share. The number says it too, for those who do not see the colour. */
function classOf(result: SuiteResult | null | undefined): string {
  if (result == null) return "none";
  const share = result.passed / result.cases;
  if (share === 1) return "all";
  return share >= 0.9 ? "most" : share >= 0.5 ? "some" : "few";
}

export function pictureOf(results: Results): string {
  const columns = Object.entries(COLUMNS);
  const width = LEFT + columns.length * COLUMN + 12;
  const height = TOP + results.implementations.length * ROW + 34;
  const heads = columns.map(([, title], column) => {
    const x = LEFT + column * COLUMN + COLUMN / 2;
    const lines = title.split(" ").map((word, line) => `<tspan x="${x}" dy="${line * 15}">${word}</tspan>`);
    return `<text x="${x}" y="${TOP - 30}" text-anchor="middle" class="small">${lines.join("")}</text>`;
  });
  const rows = results.implementations.flatMap(({ title, suites }, row) => {
    const y = TOP + row * ROW;
    return [
      `<text x="12" y="${y + 21}">${escapeXml(title)}</text>`,
      ...columns.flatMap(([name], column) => {
        const x = LEFT + column * COLUMN;
        const result = suites[name];
        return [
          `<rect x="${x + 2}" y="${y + 2}" width="${COLUMN - 4}" height="${ROW - 4}" rx="4" class="${classOf(result)}"/>`,
          `<text x="${x + COLUMN / 2}" y="${y + 21}" text-anchor="middle">${cellOf(result)}</text>`,
        ];
      }),
    ];
  });
  const title = "Cases that each implementation passes";
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect width="${width}" height="${height}" class="page"/>`,
    `<text x="12" y="28" font-weight="600">${title}</text>`,
    ...heads,
    ...rows,
    `<text x="12" y="${height - 12}" class="small">${escapeXml(describeRun(results))}</text>`,
    "</svg>",
  ].join("\n")}\n`;
}

const escapeXml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
