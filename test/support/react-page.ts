/** A page of React with one hook, over a light DOM. */

import { Window } from "happy-dom";
import { vi } from "vitest";

export interface ReactPage<Value> {
  /** What the hook returned when it was rendered last. */
  readonly current: Value;
  close(): Promise<void>;
}

/** React looks for a window when it is loaded, so it is loaded here. Tests close the page, which takes the window away. */
export async function openReactPage<Value>(hook: () => Value): Promise<ReactPage<Value>> {
  const window = new Window({ url: "http://localhost/" });
  const { document, navigator } = window;
  for (const [name, value] of Object.entries({ window, document, navigator })) vi.stubGlobal(name, value);
  const { createElement } = await import("react");
  const { createRoot } = await import("react-dom/client");
  let current: Value | undefined;
  const root = createRoot(document.createElement("div") as never);
  await new Promise<void>((resolve) => {
    root.render(
      createElement(() => {
        current = hook();
        resolve();
        return null;
      }),
    );
  });
  return {
    get current() {
      return current as Value;
    },
    close: async () => {
      root.unmount();
      // React reads the window once more in what it has put off.
      await new Promise(setImmediate);
      await window.happyDOM.close();
      vi.unstubAllGlobals();
    },
  };
}
