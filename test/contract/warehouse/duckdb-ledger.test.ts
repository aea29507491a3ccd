import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';
import { describeWarehouse } from './suite.ts';

describeWarehouse('DuckDB', openTemporaryDuckdb, ['ledger']);
