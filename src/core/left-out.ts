/**
 * The parts of the Worker that this build leaves out. `scripts/worker.ts` replaces this file: `--without` names the parts.
 * Here: none.
 */
export const LEFT_OUT: readonly string[] = [];

export const isLeftOut = (part: string): boolean => LEFT_OUT.includes(part);
