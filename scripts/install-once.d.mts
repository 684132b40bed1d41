/**
 * Runs `npm ARGS` in a folder that has these files, by their names. The folder exists complete or not at all, and is then reused. npm
 * writes its errors to stderr; this throws.
 */
export function installOnce(folder: string, files: Record<string, string>, ...args: string[]): void;
