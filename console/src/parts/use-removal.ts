import { useState } from "react";
import { errorOf } from "../api/error-of.ts";

export interface Removal<Row> {
	/** The row that waits for a confirmation. */
	row: Row | undefined;
	error: Error | undefined;
	ask(row: Row): void;
	cancel(): void;
	confirm(): void;
}

/** Removes rows of a table after a confirmation. `remove` sends the request, and shows that the row is gone. */
export function useRemoval<Row>(remove: (row: Row) => Promise<void>): Removal<Row> {
	const [row, setRow] = useState<Row>();
	const [error, setError] = useState<Error>();
	async function confirmed(removed: Row): Promise<void> {
		setRow(undefined);
		setError(undefined);
		try {
			await remove(removed);
		} catch (failure) {
			setError(errorOf(failure));
		}
	}
	return {
		...{ row, error },
		ask: (asked) => setRow(() => asked),
		cancel: () => setRow(undefined),
		confirm: () => {
			if (row !== undefined) void confirmed(row);
		},
	};
}
