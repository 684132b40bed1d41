/**
 * Replaces the package `@ungap/structured-clone` in the built Worker (scripts/worker.ts). The package itself calls this function if the
 * runtime has it.
 */
export default structuredClone;
