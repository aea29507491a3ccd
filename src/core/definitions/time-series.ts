/** A time series record (docs/interface.md section 2.2). `measurement` is any text. */
export interface TimeSeriesRecord {
  readonly xid: string;
  readonly equipmentXid: string;
  readonly sourceId: string;
  readonly measurement: string;
  readonly unit: string | null;
}
