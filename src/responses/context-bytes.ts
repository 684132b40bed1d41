/** Of the stored items that a request gets, each as often as it gets it. The runtime sends at most 32 MiB in one call of an object. */
export const MAX_CONTEXT_BYTES = 10_000_000;
