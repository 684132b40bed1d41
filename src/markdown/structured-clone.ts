/** Replaces the package `@ungap/structured-clone` in the built Worker, which calls the same function where it exists: scripts/worker.ts. */
export default structuredClone;
