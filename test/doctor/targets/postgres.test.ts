import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { describe, expect, it, onTestFinished } from "vitest";
import { DATABASE_URL } from "../../support/savers.js";
import { documentedSql, GRAPH, makeFolder, run, writeThreads } from "../command/command-line.js";

describe.runIf(DATABASE_URL !== undefined)("a PostgreSQL database", () => {
  const schema = `doctor_${process.pid}`;
  const address = DATABASE_URL ?? "";
  const target = ["--postgres", address, "--schema", schema, "--graph", GRAPH];

  async function fill() {
    const saver = PostgresSaver.fromConnString(address, { schema });
    onTestFinished(() => saver.end());
    await saver.setup();
    await writeThreads(saver);
    return saver;
  }

  it("finds the broken threads, changes nothing, repairs them, and takes it back", async () => {
    const saver = await fill();
    const { pool } = saver as unknown as { pool: { query(sql: string): Promise<{ rows: object[] }> } };
    const content = async () => {
      const tables = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"];
      return Promise.all(
        tables.map((name) => pool.query(`SELECT * FROM "${schema}".${name} ORDER BY 1, 2, 3, 4`)),
      );
    };
    const before = JSON.stringify((await content()).map(({ rows }) => rows));
    const folder = makeFolder();
    const found = await run(["doctor", ...target, "--format", "json"], { folder });
    expect([found.code, found.errors]).toEqual([1, ""]);
    expect(JSON.parse(found.output)).toMatchObject({
      counts: { threads: 4, sound: 2, withFindings: 2, unreadable: 0 },
    });
    expect(found.output).not.toContain(new URL(address).password);
    const bare = await run(["doctor", ...target.slice(0, 4), "--format", "json"], { folder });
    expect([bare.code, JSON.parse(bare.output)]).toMatchObject([
      1,
      { withoutGraph: true, counts: { threads: 4, sound: 2, withFindings: 2, unreadable: 0 } },
    ]);
    expect(JSON.stringify((await content()).map(({ rows }) => rows))).toBe(before);

    const repaired = await run(["repair", ...target, "--apply", "--yes", "--receipt", "r.jsonl"], { folder });
    expect([repaired.code, repaired.output]).toEqual([
      0,
      expect.stringContaining("2 threads were repaired."),
    ]);
    expect((await run(["doctor", ...target], { folder })).code).toBe(0);
    const undone = await run(["undo", "r.jsonl", ...target, "--yes"], { folder });
    expect([undone.code, undone.errors]).toEqual([0, ""]);
    const again = JSON.parse((await run(["doctor", ...target, "--format", "json"], { folder })).output);
    expect(again.counts).toEqual(JSON.parse(found.output).counts);
  });

  it("tells what its threads store, as docs/production.md asks it", async () => {
    const saver = await fill();
    const { pool } = saver as unknown as { pool: { query(sql: string): Promise<{ rows: object[] }> } };
    const sql = documentedSql("select thread_id, sum(bytes)");
    const { rows } = await pool.query(sql.replaceAll(/from (checkpoint\w+)/g, `from "${schema}".$1`));
    expect(rows).toHaveLength(4);
    for (const row of rows) {
      const [bytes, messages] = [Reflect.get(row, "bytes"), Reflect.get(row, "messages")].map(Number);
      expect(messages).toBeGreaterThan(0);
      expect(bytes).toBeGreaterThan(messages ?? 0);
    }
  });

  it("names the rights that its user lacks, and the tables, for reading and for a repair", async () => {
    const saver = await fill();
    const { pool } = saver as unknown as { pool: { query(sql: string): Promise<unknown> } };
    const reader = `reader_${process.pid}`;
    await pool.query(`CREATE ROLE ${reader} LOGIN PASSWORD 'reader'`);
    onTestFinished(async () => void (await pool.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`)));
    const url = Object.assign(new URL(address), { username: reader, password: "reader" }).href;
    const over = (command: string, ...more: string[]) =>
      run([command, "--postgres", url, ...target.slice(2), ...more], { folder: makeFolder() });
    const lacking = async (command: string, ...more: string[]) => {
      const { code, errors } = await over(command, ...more);
      expect(code).toBe(2);
      return /: ([^:]*)\. Grant them/.exec(errors)?.[1]?.split(", ");
    };
    expect(await lacking("doctor")).toEqual([
      `USAGE on schema ${schema}`,
      ...["checkpoint_blobs", "checkpoint_writes", "checkpoints"].map((table) => `SELECT on ${table}`),
    ]);
    await pool.query(`GRANT USAGE ON SCHEMA "${schema}" TO ${reader}`);
    await pool.query(`GRANT SELECT ON "${schema}".checkpoints, "${schema}".checkpoint_writes TO ${reader}`);
    expect(await lacking("doctor")).toEqual(["SELECT on checkpoint_blobs"]);
    await pool.query(`GRANT SELECT ON "${schema}".checkpoint_blobs TO ${reader}`);
    expect((await over("doctor")).code).toBe(1);
    expect(await lacking("repair", "--apply", "--yes")).toEqual([
      "INSERT on checkpoint_blobs",
      ...["checkpoint_writes", "checkpoints"].flatMap((table) => [
        `INSERT on ${table}`,
        `UPDATE on ${table}`,
      ]),
    ]);
  });

  it("names the schema that has the tables", async () => {
    await fill();
    const { code, errors } = await run([
      "doctor",
      "--postgres",
      address,
      "--schema",
      "nobody",
      "--graph",
      GRAPH,
    ]);
    expect(code).toBe(2);
    expect(errors).toMatch(
      /^The schema nobody of postgresql:.* has no tables of a LangGraph checkpointer\. They are in .*doctor_/,
    );
  });
});
