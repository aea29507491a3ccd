import { expect, it } from 'vitest';
import { type Config, configSchema } from '../../../config/schema.ts';
import { dailyProductionSettings } from '../../../src/app/job-settings.ts';

function chunkRowsOf(url: string, settings: object = {}): number {
  const config = configSchema.parse({ warehouse: { url }, ...settings }) as unknown as Config;
  return dailyProductionSettings(config).chunkRows;
}

it('a chunk of a file has more rows than one of a server, which takes commits of chunks side by side', () => {
  expect(chunkRowsOf('duckdb:/data/warehouse.duckdb')).toBe(300_000);
  expect(chunkRowsOf('postgres://wellsync@db:5432/wells')).toBe(100_000);
});

it('export.chunkRows goes for both', () => {
  const settings = { export: { chunkRows: 7_000 } };
  expect(chunkRowsOf('duckdb:/data/warehouse.duckdb', settings)).toBe(7_000);
  expect(chunkRowsOf('postgres://wellsync@db:5432/wells', settings)).toBe(7_000);
});
