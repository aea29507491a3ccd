import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';
import { describeHistory } from './suite.ts';

describeHistory('DuckDB', openTemporaryDuckdb);
