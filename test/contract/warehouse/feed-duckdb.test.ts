import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';
import { describeFeed } from './suites/feed.ts';

// Within the files, at the manifest, and behind it.
describeFeed(openTemporaryDuckdb, [2, 4, 5]);
