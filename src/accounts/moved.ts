/** The failure of a call for an account that has left its object, or is leaving it. */

/** Only the message of an error of an object crosses all ways to it. */
const MESSAGE = "This account has moved to another object";

export const movedError = (): Error => new Error(MESSAGE);

export const isMoved = (error: unknown): boolean => error instanceof Error && error.message === MESSAGE;
