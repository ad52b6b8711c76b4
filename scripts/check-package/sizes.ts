import { gzipSync } from "node:zlib";

export interface Sizes {
  readonly add: (title: string, bytes: Uint8Array) => void;
  readonly print: () => void;
}

/** Collects minified sizes for a table at the end. */
export function createSizes(): Sizes {
  const rows: (readonly [title: string, minified: number, compressed: number])[] = [];
  return {
    add: (title, bytes) => {
      rows.push([title, bytes.length, gzipSync(bytes).length]);
    },
    print: () => {
      const width = Math.max(...rows.map(([title]) => title.length));
      console.log(`\n${"".padEnd(width)}  minified      gzip`);
      for (const [title, minified, compressed] of rows) {
        const cells = [minified, compressed].map((bytes) => formatBytes(bytes).padStart(10));
        console.log(`${title.padEnd(width)}${cells.join("")}`);
      }
    },
  };
}

/** Formats a size. 1 kB is 1000 bytes. */
export function formatBytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
