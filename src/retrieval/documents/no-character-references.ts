/** Replaces the package `decode-named-character-reference` in the built Worker: scripts/worker.ts. */
export const decodeNamedCharacterReference = (): false => false;
