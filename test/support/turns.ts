const MANY = 50;

/**
 * Lets the event loop turn many times. After that, all work in this process has ended that does not wait for a timer or
 * another process, even on a busy machine.
 */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < MANY; turn += 1) await new Promise(setImmediate);
}
