import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The size of the heap of this process after a garbage collection, in megabytes with one decimal. */
export function heapInMegabytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  return Math.round(process.memoryUsage().heapUsed / 1e5) / 10;
}
