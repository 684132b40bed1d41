/** Finds the engine's call of each row of the ledger, when several calls have the same prompt. */
import type { EngineCall } from "../engine.ts";
import type { Row } from "../gateway.ts";

type Usage = Pick<Row, "outcome" | "output_tokens">;
type Call = Pick<EngineCall, "complete" | "outputTokens">;

interface Pairs<R, C> {
	rowsWithoutCall: R[];
	callsWithoutRow: C[];
}

/**
 * A row with the outcome `ok` is a complete call with the same output. Another row is a call with at least the same output, because the
 * gateway may not have read all that the engine sent.
 *
 * @param isLastChoice the call may have no row, so the other calls are paired first.
 */
export function pairRows<R extends Usage, C extends Call>(
	rows: readonly R[],
	calls: readonly C[],
	isLastChoice: (call: C) => boolean,
): Pairs<R, C> {
	const free = calls.toSorted((one, other) => Number(isLastChoice(one)) - Number(isLastChoice(other)));
	// The row with the most output first, because the fewest calls fit it.
	const exactFirst = rows.toSorted(
		(one, other) =>
			Number(other.outcome === "ok") - Number(one.outcome === "ok") ||
			other.output_tokens - one.output_tokens,
	);
	const rowsWithoutCall: R[] = [];
	for (const row of exactFirst) {
		const index = free.findIndex(({ complete, outputTokens }) =>
			row.outcome === "ok"
				? complete && outputTokens === row.output_tokens
				: outputTokens >= row.output_tokens,
		);
		if (index < 0) rowsWithoutCall.push(row);
		else free.splice(index, 1);
	}
	return { rowsWithoutCall, callsWithoutRow: free };
}
