/** The oldest Node that runs the scripts of this project: `major.minor`. */
export const NEEDED_NODE: string;
/** Whether this Node is new enough for them. */
export function isNewEnough(): boolean;
/** `version`: as `process.versions.node`. */
export function isAtLeast(version: string, neededMajor: number, neededMinor: number): boolean;
