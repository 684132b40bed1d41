import { describe, expect, it } from "vitest";
import { batchOf, metadataFields } from "../../../src/gateways/logs/log-batch.ts";
import { newLog, newRow } from "./rows.ts";

const parsed = (texts: readonly string[]): unknown[] =>
	texts.flatMap((text) => JSON.parse(text) as unknown[]);
const payload = (text: string, complete = true) => ({ text, complete });

describe("a batch of logs", () => {
	it("has the values of each row in the order of the columns", () => {
		const row = newRow({ id: "id-1", event_id: "e", model: 'a"b', success: 0, score: 1.5 });
		const { ids, rows } = batchOf([{ row }]);
		expect(ids).toEqual(["id-1"]);
		expect(rows).toHaveLength(1);
		const [values] = parsed(rows) as unknown[][];
		expect(values).toHaveLength(34);
		expect(values?.slice(0, 8)).toEqual(["id-1", "e", "workers-ai", 'a"b', null, "@cf/a/b", 10, 5]);
		expect(values?.slice(-4)).toEqual([null, 1.5, 0, null]);
	});

	it("has each metadata once, with its values as texts and the ids of its logs, and no other texts", () => {
		const metadata = '{"team":"a","seats":3,"beta":true}';
		const logs = [
			newLog({ id: "1", metadata }),
			newLog({ id: "2" }),
			newLog({ id: "3", metadata: "[1]" }),
			newLog({ id: "4", metadata: '{"team":"b"}' }),
			newLog({ id: "5", metadata }),
		];
		expect(parsed(batchOf(logs).metadata)).toEqual([
			[["1", "5"], { team: "a", seats: "3", beta: "true" }],
			[["4"], { team: "b" }],
		]);
		expect(metadataFields("not JSON")).toBeUndefined();
	});

	it("has large payloads beside the rows", () => {
		const [inRow, large] = [payload("x".repeat(64 * 1024)), payload("x".repeat(64 * 1024 + 1), false)];
		const { payloads, large: beside } = batchOf([
			{ ...newLog({ id: "1" }), request: payload('é"', false), response: inRow },
			{ ...newLog({ id: "2" }), response: large },
		]);
		expect(parsed(payloads)).toEqual([
			["1", "request", 'é"', 0],
			["1", "response", inRow.text, 1],
		]);
		expect(beside).toEqual([{ log: "2", part: "response", payload: large }]);
	});

	it("has JSON arrays of bounded size, in the order of the logs", () => {
		const logs = Array.from({ length: 20 }, (_, n) => ({
			...newLog({ id: String(n) }),
			response: payload("x".repeat(60_000)),
		}));
		const { payloads } = batchOf(logs);
		// Six of them have less than 400,000 characters.
		expect(payloads.map((text) => (JSON.parse(text) as unknown[]).length)).toEqual([6, 6, 6, 2]);
		expect((parsed(payloads) as [string][]).map(([log]) => log)).toEqual(logs.map(({ row }) => row.id));
	});

	it("is empty without logs", () => {
		expect(batchOf([])).toEqual({ ids: [], rows: [], metadata: [], payloads: [], large: [] });
	});
});
