import fc from "fast-check";
import Papa from "papaparse";
import { expect, it } from "vitest";
import { csv } from "../../src/http/csv.ts";

const FORMULA = /^(?:[=+\-\t\r\n]|@(?!(?:cf|hf)\/[\w./-]+$))/;

it("writes rows as papaparse does", async () => {
	const cell = fc.oneof(
		fc.string({ unit: fc.constantFrom("a", "@", "=", "-", " ", '"', ",", "\r", "\n", "\t", "\ufeff", "'") }),
		fc.constantFrom(null, undefined, 0, -1.5, 1e21, true, "@cf/a/b", "@hf/a b"),
	);
	await fc.assert(
		fc.asyncProperty(fc.array(fc.record({ one: cell, two: cell }), { minLength: 1 }), async (rows) => {
			const columns = ["two", "one"];
			const text = Papa.unparse(rows, { columns, escapeFormulae: FORMULA });
			// A byte order mark at the start is not part of the text of an answer.
			const bytes = await csv(rows, columns, "a.csv").arrayBuffer();
			expect(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes)).toBe(`${text}\r\n`);
		}),
		{ numRuns: 2000 },
	);
	expect(await csv([], ["a", "b"], "a.csv").text()).toBe("a,b\r\n");
});
