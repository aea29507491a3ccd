/** Where the files of a run lie among those that several hosts share. Kept in the run: it holds no secret (G10). */
export interface SharedPlace {
  /** Written into the place with its first file: two addresses may name one place, and one address two. */
  readonly id: string;
  /** As the host that requested the run names it, for messages. */
  readonly address: string;
  /** The folder of the warehouse in the place. */
  readonly folder: string;
}
