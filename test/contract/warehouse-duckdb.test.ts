/** DuckDB takes the conformance suite of the warehouse. */
import { openTemporaryDuckdb } from '../support/warehouse-duckdb.ts';
import { describeWarehouse } from './warehouse-suite.ts';

describeWarehouse('DuckDB', openTemporaryDuckdb);
