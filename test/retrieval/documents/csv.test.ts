import fc from "fast-check";
import Papa from "papaparse";
import { describe, expect, it } from "vitest";
import { codePoint } from "../../code-point.ts";
import { textOf } from "./convert.ts";

const csv = (text: string): Promise<string> => textOf("data.csv", text);

describe("CSV as Markdown", () => {
	it("is a table whose header is the first row", async () => {
		expect(await csv("name,price\nfox,5\ndog,7\n")).toBe(
			"| name | price |\n| --- | --- |\n| fox | 5 |\n| dog | 7 |\n",
		);
	});

	it.each([
		["semicolons", "a;b\n1;2\n"],
		["tabs", "a\tb\n1\t2\n"],
		["pipes", "a|b\n1|2\n"],
		["a byte order mark and CRLF", "\uFEFFa,b\r\n1,2\r\n"],
	])("reads %s", async (_, text) => {
		expect(await csv(text)).toBe("| a | b |\n| --- | --- |\n| 1 | 2 |\n");
	});

	it("escapes what Markdown or the table would read, and nothing else", async () => {
		expect(
			await csv('head,other\n"a|b","two\nlines"\n*x* <b> [l] `c`,snake_case _em_ \\| &amp; 5 < 6\n'),
		).toBe(
			"| head | other |\n| --- | --- |\n| a\\|b | two<br>lines |\n| \\*x\\* \\<b> \\[l\\] \\`c\\` | snake_case \\_em\\_ \\\\\\| \\&amp; 5 \\< 6 |\n",
		);
	});

	it("gives every column a header and skips empty rows", async () => {
		expect(await csv("a\n1,2,3\n\n , \n4\n")).toBe(
			"| a |  |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 4 |\n",
		);
	});

	it("is nothing where there is nothing", async () => {
		expect(await csv("")).toBe("");
		expect(await csv("\n\n")).toBe("");
	});

	it("keeps one row for each row, and no cell breaks out of its own", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.array(fc.string({ unit: codePoint }), { minLength: 2, maxLength: 4 }), {
					minLength: 1,
					maxLength: 5,
				}),
				async (rows) => {
					const text = Papa.unparse(rows, { quotes: true });
					if (text.includes("\0")) return;
					const kept = rows.filter((row) => row.join("").trim() !== "");
					const lines = (await csv(text)).split("\n").slice(0, -1);
					expect(lines.length).toBe(kept.length === 0 ? 0 : kept.length + 1);
					const columns = Math.max(...kept.map((row) => row.length));
					for (const line of lines) {
						const pipes = line.replace(/\\./gs, "").match(/\|/g)?.length ?? 0;
						expect(pipes, line).toBeLessThanOrEqual(columns + 1);
					}
				},
			),
			{ numRuns: 100 },
		);
	});
});

it("CSV as plain text has tabs between its fields", async () => {
	expect(await textOf("a.csv", 'a,b\n1,"x\ny | z"\n', { output: { format: "text" } })).toBe(
		"a\tb\n1\tx y | z\n",
	);
});
