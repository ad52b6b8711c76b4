/** The results as a picture, in light and dark: turns by the length of the thread, and how many times better each row is. */

import {
  ARCHIVE_DELTA_SERIALIZER,
  DELTA_SERIALIZER,
  FULL,
  OURS,
  WITH_PATCH,
  WITH_SUMMARY,
} from "../contenders.js";
import { type Highlight, highlightsOf } from "./highlights.js";
import { digits } from "./numbers.js";
import { describeRun, type Results, roundsOf, spreadOf } from "./results.js";

const WIDTH = 860;
const LEFT = 340;
const RIGHT = 90;
const LINES_TOP = 64;
const LINES_HEIGHT = 230;
const ROW = 36;
const FOOT_LINE = 15;

const STYLE = `
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .title { font-weight: 600; }
  .page { fill: #ffffff; }
  .grid { stroke: #d1d9e0; } .even { stroke: #59636e; stroke-dasharray: 3 3; } .spread { stroke: #1f2328; }
  .ours { fill: #1a7f37; stroke: #1a7f37; } .theirs { fill: #bc4c00; stroke: #bc4c00; }
  path.ours, path.theirs { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; } .dotted { stroke-dasharray: 2 4; }
  text.ours, text.theirs { stroke: none; font-size: 11px; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .page { fill: #0d1117; }
    .grid { stroke: #3d444d; } .even { stroke: #9198a1; } .spread { stroke: #f0f6fc; }
    .ours { fill: #3fb950; stroke: #3fb950; } .theirs { fill: #f0883e; stroke: #f0883e; }
  }`;

const SIZES = [100, 1_000, 10_000];
/** Each line has a label at its end, and a pattern beside its colour, for those who do not see the colour. */
const LINES = [
  { contender: WITH_PATCH, group: "theirs", pattern: "" },
  { contender: WITH_SUMMARY, group: "theirs", pattern: "dashed" },
  { contender: FULL, group: "ours", pattern: "" },
  { contender: DELTA_SERIALIZER, group: "ours", pattern: "dotted" },
  { contender: ARCHIVE_DELTA_SERIALIZER, group: "ours", pattern: "dashed" },
] as const;

export function chartOf(results: Results): string {
  const rows = highlightsOf(results);
  const barsTop = LINES_TOP + LINES_HEIGHT + 84;
  const foot = describeRun(results).split("; ");
  const height = barsTop + rows.length * ROW + 24 + foot.length * FOOT_LINE;
  const title = "A turn by the length of its thread, and each row of the table";
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect width="${WIDTH}" height="${height}" class="page"/>`,
    `<text x="12" y="28" class="title">Milliseconds of a turn, by the number of messages in the thread</text>`,
    ...lineChart(results),
    `<text x="12" y="${barsTop - 34}" class="title">How many times better, with the lowest and the highest round</text>`,
    ...barChart(rows, barsTop),
    ...foot.map((text, line) => {
      const y = height - 12 - (foot.length - 1 - line) * FOOT_LINE;
      return `<text x="12" y="${y}" class="small">${escapeXml(text)}</text>`;
    }),
    "</svg>",
  ].join("\n")}\n`;
}

/** Powers of ten around the values. */
function decadesAround(values: readonly number[]): { readonly low: number; readonly high: number } {
  const logs = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  const [low, high] = [Math.floor(Math.min(0, ...logs)), Math.ceil(Math.max(1, ...logs))];
  return { low, high };
}

const decades = ({ low, high }: { readonly low: number; readonly high: number }) =>
  Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));

function lineChart(results: Results): string[] {
  const lines = LINES.map((line) => ({
    ...line,
    points: SIZES.flatMap((size) => {
      const rounds = roundsOf(results, `turn/${size}`, line.contender);
      return rounds === undefined ? [] : [{ size, value: spreadOf(rounds).median }];
    }),
  })).filter(({ points }) => points.length > 0);
  const range = decadesAround(lines.flatMap(({ points }) => points.map(({ value }) => value)));
  const [left, right] = [60, WIDTH - 320];
  const xOf = (size: number) => left + ((right - left) * (Math.log10(size) - 2)) / 2;
  const yOf = (value: number) =>
    LINES_TOP + (LINES_HEIGHT * (range.high - Math.log10(value))) / (range.high - range.low);
  const grid = decades(range).flatMap((value) => [
    `<line x1="${left}" x2="${right}" y1="${round(yOf(value))}" y2="${round(yOf(value))}" class="grid"/>`,
    `<text x="${left - 8}" y="${round(yOf(value) + 4)}" text-anchor="end" class="small">${digits(value)}</text>`,
  ]);
  const sizes = SIZES.map(
    (size) =>
      `<text x="${round(xOf(size))}" y="${LINES_TOP + LINES_HEIGHT + 18}" text-anchor="middle" class="small">${digits(size)}</text>`,
  );
  // Labels that would cover each other are moved down.
  let lowest = Number.NEGATIVE_INFINITY;
  const drawn = lines
    .toSorted((one, other) => yOf(one.points.at(-1)?.value ?? 1) - yOf(other.points.at(-1)?.value ?? 1))
    .flatMap(({ contender, group, pattern, points }) => {
      const path = points.map(({ size, value }) => `${round(xOf(size))} ${round(yOf(value))}`).join(" L ");
      lowest = Math.max(lowest + 14, yOf(points.at(-1)?.value ?? 1) + 4);
      return [
        `<path d="M ${path}" class="${group} ${pattern}"/>`,
        `<text x="${right + 8}" y="${round(lowest)}" class="${group}">${escapeXml(group === "ours" ? `${OURS}: ${contender}` : contender)}</text>`,
      ];
    });
  return [...grid, ...sizes, ...drawn];
}

function barChart(rows: readonly Highlight[], top: number): string[] {
  const range = decadesAround(rows.flatMap(({ ratio }) => [ratio.least, ratio.most]));
  const xOf = (value: number) =>
    LEFT + ((WIDTH - RIGHT - LEFT) * (Math.log10(value) - range.low)) / (range.high - range.low);
  const bottom = top + rows.length * ROW;
  const grid = decades(range).flatMap((value) => [
    `<line x1="${round(xOf(value))}" x2="${round(xOf(value))}" y1="${top - 6}" y2="${bottom}" class="${value === 1 ? "even" : "grid"}"/>`,
    `<text x="${round(xOf(value))}" y="${top - 12}" text-anchor="middle" class="small">${digits(value)}×</text>`,
  ]);
  const bars = rows.flatMap(({ title, ours, beside, ratio }, index) => {
    const y = top + index * ROW;
    const [even, end] = [xOf(1), xOf(ratio.median)];
    const group = ratio.median >= 1 ? "ours" : "theirs";
    return [
      `<text x="12" y="${y + 12}">${escapeXml(title)}</text>`,
      `<text x="12" y="${y + 26}" class="small">${escapeXml(ours === OURS ? "" : `${ours}, `)}beside ${escapeXml(beside)}</text>`,
      `<rect x="${round(Math.min(even, end))}" y="${y + 6}" width="${round(Math.abs(end - even))}" height="${ROW - 18}" class="${group}"/>`,
      `<line x1="${round(xOf(ratio.least))}" x2="${round(xOf(ratio.most))}" y1="${y + 15}" y2="${y + 15}" class="spread"/>`,
      `<text x="${round(Math.max(even, xOf(ratio.most)) + 6)}" y="${y + 19}" class="small">${digits(ratio.median)}×</text>`,
    ];
  });
  return [...grid, ...bars];
}

const round = (value: number): number => Math.round(value * 10) / 10;
const escapeXml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
