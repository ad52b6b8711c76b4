/** Every link of the documents leads somewhere, on GitHub and in the packed library. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
const PAGES = [
  ...["README.md", "ARCHITECTURE.md", "CHANGELOG.md"],
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Code is not read for links and headings. */
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, "");

function linksOf(path: string): string[] {
  const links = withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g);
  return [...links].map((match) => match[1] ?? "").filter((link) => !/^https?:/.test(link));
}

/** The anchors that GitHub gives to headings; it numbers those that would be the same. */
function anchorsOf(path: string): string[] {
  const headings = [...withoutCode(read(path)).matchAll(/^#{1,6} (.+)$/gm)];
  const anchors = headings.map((match) =>
    (match[1] ?? "")
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return anchors.map((anchor, index) => {
    const earlier = anchors.slice(0, index).filter((other) => other === anchor).length;
    return earlier === 0 ? anchor : `${anchor}-${earlier}`;
  });
}

function leadsSomewhere(page: string, link: string): boolean {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), file));
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}

it.each(PAGES)("%s has no link that leads nowhere", (page) => {
  expect(linksOf(page).filter((link) => !leadsSomewhere(page, link))).toEqual([]);
});

it("The links are found.", () => {
  expect(linksOf("README.md").length).toBeGreaterThan(8);
  expect(anchorsOf("docs/troubleshooting.md")).toContain("maximum-recursion-depth-50-exceeded");
});
