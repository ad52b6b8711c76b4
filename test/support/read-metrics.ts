/** Reads Prometheus' text format with a parser that this project has not written. */

import { createRequire } from "node:module";

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly metrics: readonly { readonly value: string; readonly labels?: Readonly<Record<string, string>> }[];
}

const parse: (text: string) => readonly Family[] = createRequire(import.meta.url)(
  "parse-prometheus-text-format",
);

/** The value of each series that is not 0, by its name and labels. */
export function readMetrics(text: string): Readonly<Record<string, number>> {
  const series = parse(text).flatMap(({ name, metrics }) =>
    metrics.map(({ value, labels = {} }): [string, number] => {
      const written = Object.entries(labels).filter(([, label]) => label !== "");
      const key = written.map(([label, content]) => `${label}=${content}`).join(",");
      return [key === "" ? name : `${name}{${key}}`, Number(value)];
    }),
  );
  return Object.fromEntries(series.filter(([, value]) => value !== 0));
}

export function familiesIn(text: string): readonly Family[] {
  return parse(text);
}
