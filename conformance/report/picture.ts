/** The results as a picture, in light and dark. */

import { type Colours, escapeXml, SANS, svgOf } from "../../scripts/generated/svg.js";
import { COLUMNS, daysOf, type Results, type SuiteResult } from "./results.js";
import { cellOf } from "./table.js";

const TITLE = "Cases that each implementation passes";
const NOTE = "A dash: no case applies.";
const LEFT = 190;
const TOP = 92;
const COLUMN = 62;
const ROW = 34;

const STYLE = `text { font: 13px ${SANS}; } .title { font-weight: 600; } .small { font-size: 11px; }`;
const FILLS: Colours = {
  text: ["#1f2328", "#f0f6fc"],
  ".small": ["#59636e", "#9198a1"],
  ".page": ["#ffffff", "#0d1117"],
  ".none": ["#f0f2f4", "#1c2128"],
  ".all": ["#aceebb", "#1a6b33"],
  ".most": ["#dafbe1", "#16452a"],
  ".some": ["#fff1b8", "#5c4a12"],
  ".few": ["#ffd8d3", "#67201f"],
};

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
  const height = TOP + results.implementations.length * ROW + 36;
  const heads = columns.map(([, title], column) => {
    const x = LEFT + column * COLUMN + COLUMN / 2;
    const lines = title
      .split(" ")
      .map((word, line) => `<tspan x="${x}" dy="${line === 0 ? 0 : 15}">${word}</tspan>`);
    return `<text x="${x}" y="${TOP - 38}" text-anchor="middle" class="small">${lines.join("")}</text>`;
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
  return svgOf({
    title: TITLE,
    width,
    height,
    style: STYLE,
    fills: FILLS,
    parts: [
      `<rect width="${width}" height="${height}" class="page"/>`,
      `<text x="12" y="28" class="title">${TITLE}</text>`,
      ...heads,
      ...rows,
      `<text x="12" y="${height - 14}" class="small">${NOTE} ${daysOf(results)}</text>`,
    ],
  });
}
