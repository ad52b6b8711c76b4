/**
 * A queue of jobs in a table, as simple as an engine can be. It runs one job of a thread at a time, in their order. Like
 * some engines it frees the thread at the moment of a cancel, and gives a job to a second worker if it thinks that the
 * first one is dead: both can still be running then.
 */

import type pg from "pg";

export type JobState = "queued" | "running" | "done" | "cancelled";

export interface Job {
  readonly id: number;
  readonly thread: string;
}

export interface JobRow extends Job {
  readonly state: JobState;
  readonly owner: string | null;
  readonly attempts: number;
  readonly ended: Date | null;
}

const CLAIM = `
  UPDATE jobs SET state = 'running', owner = $1, attempts = attempts + 1 WHERE id = (
    SELECT id FROM jobs WHERE state = 'queued' AND NOT EXISTS (
      SELECT 1 FROM jobs AS other WHERE other.thread = jobs.thread
        AND (other.state = 'running' OR (other.state = 'queued' AND other.id < jobs.id)))
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
  AND state = 'queued' RETURNING id, thread`;

export class JobTable {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async create(jobs: readonly Job[]): Promise<void> {
    await this.#pool.query(
      "CREATE TABLE jobs (id int PRIMARY KEY, thread text, state text DEFAULT 'queued', owner text, attempts int DEFAULT 0, ended timestamptz)",
    );
    await this.#pool.query("INSERT INTO jobs SELECT * FROM unnest($1::int[], $2::text[])", [
      jobs.map(({ id }) => id),
      jobs.map(({ thread }) => thread),
    ]);
  }

  async claim(attempt: string): Promise<Job | undefined> {
    const { rows } = await this.#pool.query<Job>(CLAIM, [attempt]);
    return rows[0];
  }

  /** Nothing changes if another attempt has the job, or if it was cancelled. */
  async finish(id: number, attempt: string): Promise<void> {
    await this.#pool.query(
      "UPDATE jobs SET state = 'done', ended = clock_timestamp() WHERE id = $1 AND owner = $2 AND state = 'running'",
      [id, attempt],
    );
  }

  /** The job goes back to the queue if this attempt has it, or any attempt that begins so. */
  async giveBack(attempt: string): Promise<void> {
    await this.#pool.query(
      "UPDATE jobs SET state = 'queued', owner = NULL WHERE starts_with(owner, $1) AND state = 'running'",
      [attempt],
    );
  }

  async cancel(id: number): Promise<void> {
    await this.#pool.query("UPDATE jobs SET state = 'cancelled' WHERE id = $1 AND state = 'running'", [id]);
  }

  async readCancelled(): Promise<ReadonlySet<number>> {
    const { rows } = await this.#pool.query<Job>("SELECT id FROM jobs WHERE state = 'cancelled'");
    return new Set(rows.map(({ id }) => id));
  }

  /** Retries a cancelled job, unless a later one of its thread has begun. */
  async retry(id: number): Promise<void> {
    await this.#pool.query(
      `UPDATE jobs SET state = 'queued', owner = NULL WHERE id = $1 AND state = 'cancelled' AND NOT EXISTS (
        SELECT 1 FROM jobs AS other WHERE other.thread = jobs.thread AND other.id > jobs.id AND other.attempts > 0)`,
      [id],
    );
  }

  async read(): Promise<readonly JobRow[]> {
    const { rows } = await this.#pool.query<JobRow>("SELECT * FROM jobs ORDER BY id");
    return rows;
  }
}
