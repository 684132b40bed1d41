/** Texts as words of a shell. */

/** A single quote ends a quoted text, so it is escaped outside of it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
