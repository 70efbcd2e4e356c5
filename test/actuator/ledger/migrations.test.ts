import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIGRATIONS } from '../../../actuator/ledger/migrations/all.ts';
import { APPLICATION_ID, type Migration, migrate } from '../../../actuator/ledger/migrations/migration.ts';
import { openFile } from '../../../actuator/ledger/open.ts';
import { openSql, type Sql } from '../../../actuator/ledger/sql.ts';
import { aDecision, opened, scratch } from './samples.ts';

const schemaOf = (sql: Sql) => sql.all('SELECT type, name, sql FROM sqlite_schema ORDER BY name');

/** A file as the program of that step left it. */
function fileAt(steps: readonly Migration[]): string {
  const file = join(scratch(), 'ledger.db');
  const sql = openSql(file, false);
  migrate(sql, steps, 0);
  sql.close();
  return file;
}

function open(file: string, steps: readonly Migration[]): Sql {
  const sql = openFile(file, { readOnly: false, waitMs: 0, steps });
  onTestFinished(() => sql.close());
  return sql;
}

describe('the steps of the schema', () => {
  it('are numbered from 1 without a gap', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, i) => i + 1));
  });

  it.each([[1, '4d7dbf16e1c8c7b4']])('are not edited once released: step %i', (version, sum) => {
    const file = fileAt(MIGRATIONS.slice(0, version));
    const sql = openSql(file, false);
    const schema = JSON.stringify(schemaOf(sql)).replace(/\s+/g, ' ');
    sql.close();
    expect(createHash('sha256').update(schema).digest('hex').slice(0, 16)).toBe(sum);
  });

  it.each(MIGRATIONS.map((_, taken) => [taken]))(
    'lead from a file after %i steps to the schema of a new one',
    (taken) => {
      const [older, fresh] = [fileAt(MIGRATIONS.slice(0, taken)), fileAt(MIGRATIONS)];
      const ledger = opened(older);
      ledger.commit(aDecision('one'));
      ledger.close();
      const schemas = [older, fresh].map((file) => schemaOf(open(file, MIGRATIONS)));
      expect(schemas[0]).toEqual(schemas[1]);
    },
  );
});

describe('a file of another version', () => {
  const next: Migration = {
    version: MIGRATIONS.length + 1,
    up(sql) {
      sql.run("UPDATE knobs SET sum = 'new'");
      sql.run('CREATE TABLE procedures (key TEXT PRIMARY KEY) STRICT');
    },
  };
  const steps = [...MIGRATIONS, next];

  it('is brought to the newest with what it holds', () => {
    const file = fileAt(MIGRATIONS);
    const ledger = opened(file);
    ledger.commit(aDecision('one'));
    ledger.close();
    const sql = open(file, steps);
    expect(sql.value('PRAGMA user_version')).toBe(next.version);
    expect(sql.value('PRAGMA application_id')).toBe(APPLICATION_ID);
    expect(sql.value('SELECT count(*) FROM cases')).toBe(1);
    expect(sql.value('SELECT count(*) FROM procedures')).toBe(0);
  });

  it('stays what it was where a step fails, and whole steps before it are undone too', () => {
    const file = fileAt([]);
    const failing: Migration = {
      version: next.version + 1,
      up(sql) {
        sql.run('CREATE TABLE half (key TEXT) STRICT');
        throw new Error('no');
      },
    };
    expect(() => open(file, [...steps, failing])).toThrow('no');
    const sql = openSql(file, false);
    expect([sql.value('PRAGMA user_version'), schemaOf(sql)]).toEqual([0, []]);
    sql.close();
  });

  it('newer than this program is refused, and not touched', () => {
    const file = fileAt(steps);
    const before = readFileSync(file);
    const newer = expect.objectContaining({ code: 'LEDGER_NEWER' });
    expect(() => opened(file)).toThrow(newer);
    expect(() => opened(file, { readOnly: true })).toThrow(newer);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(open(file, steps).value('PRAGMA user_version')).toBe(next.version);
  });

  it('older than this program cannot be opened for reading alone', () => {
    const file = fileAt(MIGRATIONS);
    const read = () => openFile(file, { readOnly: true, waitMs: 0, steps });
    expect(read).toThrow(expect.objectContaining({ code: 'LEDGER_READ_ONLY' }));
  });

  it('that was never begun is a new one', () => {
    const file = join(scratch(), 'ledger.db');
    writeFileSync(file, '');
    opened(file).commit(aDecision('one'));
  });
});
