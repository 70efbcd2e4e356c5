import { tables } from './0001-tables.ts';
import type { Migration } from './migration.ts';

export const MIGRATIONS: readonly Migration[] = [tables];
