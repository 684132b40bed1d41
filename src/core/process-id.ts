let id: string | undefined;

/** Differs in each life of a process. Not at the start of a module: there the runtime has no randomness. */
export const processId = (): string => (id ??= crypto.randomUUID());
