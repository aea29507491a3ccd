/** The option of every command that takes a list from a file. */
import { Option } from 'commander';

export interface EmptyOption {
  readonly allowEmpty?: true;
}

export function emptyOption(): Option {
  return new Option('--allow-empty', 'a file that holds its header alone is no fault: end with 0');
}
