/** What was thrown, as an error that the console can show. */
export const errorOf = (thrown: unknown): Error =>
	thrown instanceof Error ? thrown : new Error(String(thrown));
