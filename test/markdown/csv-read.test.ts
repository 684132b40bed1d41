import fc from "fast-check";
import Papa from "papaparse";
import { describe, expect, it } from "vitest";
import { readRows } from "../../src/markdown/csv-read.ts";

describe("rows of CSV", () => {
	it.each([
		['a,"b ""c"" d",e', [["a", 'b "c" d', "e"]]],
		['"a\r\nb" ,c\r\n,', [["a\r\nb", "c"]]],
		['"a"b",c', [['a"b', "c"]]],
		['"not closed,\n""b', [['not closed,\n""b']]],
		['a "quoted" word;b', [['a "quoted" word', "b"]]],
		[
			"a,b\n1,2,\n",
			[
				["a", "b"],
				["1", "2", ""],
			],
		],
		["one\ntwo\n", [["one"], ["two"]]],
		[
			"a;b,c\n1;2\n",
			[
				["a", "b,c"],
				["1", "2"],
			],
		],
	])("of %j", (text, rows) => {
		expect(readRows(text)).toEqual(rows);
	});

	it.each([",", ";", "\t", "|", "\x1e"])("are found, with the separator %j", (separator) => {
		const value = fc.string({
			unit: fc.constantFrom("a", "b", " ", '"', separator, "\n", "\r\n"),
			maxLength: 6,
		});
		const written = (text: string, space: string): string =>
			/["\r\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"${space}` : text;
		const rows = fc
			.integer({ min: 2, max: 4 })
			.chain((columns) =>
				fc.array(fc.array(value, { minLength: columns, maxLength: columns }), { minLength: 1 }),
			);
		const lineBreak = fc.constantFrom("\n", "\r\n", "\r");
		fc.assert(
			fc.property(rows, lineBreak, fc.constantFrom("", " "), (fields, end, space) => {
				// The separator of empty fields cannot be found.
				const named = fields.map(([first, ...others]) => [`a${first}`, ...others]);
				const text = named.map((row) => row.map((one) => written(one, space)).join(separator) + end).join("");
				expect(readRows(text)).toEqual(named);
			}),
			{ numRuns: 1000 },
		);
	});

	it("have the separator that papaparse finds", () => {
		const piece = fc.constantFrom("a", "bc", " ", ",", ";", "\t", "|", ",", "\n", "\n");
		fc.assert(
			fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
				const text = pieces.join("");
				expect(readRows(text)).toEqual(Papa.parse(text, { skipEmptyLines: "greedy" }).data);
			}),
			{ numRuns: 3000 },
		);
	});
});
