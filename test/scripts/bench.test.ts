/** The tables of the README, the page and the pictures are those of the last run of the measurements and of the conformance kit. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SHARED } from "../../bench/one-copy.js";
import { chartOf } from "../../bench/report/chart.js";
import { pageOf } from "../../bench/report/page.js";
import type { Results } from "../../bench/report/results.js";
import { tableOf, withTable } from "../../bench/report/table.js";
import { pictureOf } from "../../conformance/report/picture.js";
import type { Results as Scores } from "../../conformance/report/results.js";
import { MARKS, tableOf as scoresOf } from "../../conformance/report/table.js";
import { withBlock } from "../../scripts/generated/with-block.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const results: Results = JSON.parse(read("bench/results.json"));

it("The README, the page and the chart show the last run.", () => {
  const readme = read("README.md");
  expect(withTable(readme, tableOf(results))).toBe(readme);
  expect(pageOf(results)).toBe(read("bench/results.md"));
  expect(chartOf(results)).toBe(read("docs/pictures/measurements.svg"));
});

it("The README and the picture show the last run of the conformance kit.", () => {
  const scores: Scores = JSON.parse(read("conformance/results.json"));
  const readme = read("README.md");
  expect(withBlock(readme, MARKS, scoresOf(scores))).toBe(readme);
  expect(pictureOf(scores)).toBe(read("conformance/results.svg"));
});

it("Each suite is listed once, with its day, its versions and its kind of machine.", () => {
  const names = results.suites.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  for (const { date, machine, versions } of results.suites) {
    expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(machine).toMatch(/^\d+ × .+, \d+ GB, \w+, Node \d+$/);
    expect(Object.keys(versions)).toContain("deepagents");
  }
  expect(JSON.stringify(results)).not.toMatch(/\/(?:home|root|tmp|Users|work)\//);
});

it("The bench installs the versions of the packages that it shares with the repository, without addresses.", () => {
  const versionsIn = (path: string) => {
    const { packages } = JSON.parse(read(path));
    return SHARED.map((name) => [name, packages[`node_modules/${name}`].version]);
  };
  expect(versionsIn("bench/package-lock.json")).toEqual(versionsIn("package-lock.json"));
  expect(read("bench/package-lock.json")).not.toContain('"resolved"');
});
