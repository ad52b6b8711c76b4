const MANY = 50;

/**
 * Lets the event loop turn many times: what is under way in this process and waits for no clock and no other process
 * has ended then, however busy the machine is.
 */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < MANY; turn += 1) await new Promise(setImmediate);
}
