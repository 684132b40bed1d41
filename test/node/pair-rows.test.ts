import { describe, expect, it } from "vitest";
import { pairRows } from "../../tools/soak/gateways/pair-rows.ts";

const row = (outcome: "ok" | "cancelled", output_tokens: number) => ({ outcome, output_tokens });
const call = (outputTokens: number, complete = false) => ({ outputTokens, complete });
const NEVER = () => false;

describe("pairs of rows and calls with the same prompt", () => {
	it("leave a larger call to the row that no smaller one fits", () => {
		const rows = [row("cancelled", 1), row("cancelled", 28)];
		const pairs = pairRows(rows, [call(28), call(1)], NEVER);
		expect(pairs).toEqual({ rowsWithoutCall: [], callsWithoutRow: [] });
	});

	it("leave complete calls to complete answers", () => {
		const rows = [row("cancelled", 3), row("ok", 5)];
		const pairs = pairRows(rows, [call(5, true), call(4)], NEVER);
		expect(pairs).toEqual({ rowsWithoutCall: [], callsWithoutRow: [] });
	});

	it("report a row with more output than any call", () => {
		const calls = [call(28)];
		expect(pairRows([row("cancelled", 29)], calls, NEVER)).toEqual({
			rowsWithoutCall: [row("cancelled", 29)],
			callsWithoutRow: calls,
		});
	});

	it("report a second row of one call", () => {
		const rows = [row("ok", 5), row("ok", 5)];
		expect(pairRows(rows, [call(5, true)], NEVER).rowsWithoutCall).toEqual([row("ok", 5)]);
	});

	it("leave out the calls that may have no row", () => {
		const [excused, other] = [call(5, true), call(5, true)];
		const pairs = pairRows([row("ok", 5)], [excused, other], (each) => each === excused);
		expect(pairs.callsWithoutRow).toEqual([excused]);
		expect(pairs.callsWithoutRow[0]).toBe(excused);
	});
});
