import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';
import { describeWarehouseBySize } from './suite.ts';

describeWarehouseBySize('DuckDB', openTemporaryDuckdb, 'ledger');
