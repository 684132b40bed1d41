/**
 * Compares `src/counting/token-estimate.ts` with real tokenizers on the texts of test/fixtures/tokens, and writes the table of
 * docs/token-counts.md: `npm run tokenizers`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { countTokens as countO200k } from "gpt-tokenizer/encoding/o200k_base";
import llama3 from "llama3-tokenizer-js";
import { approximateTokens } from "../src/counting/token-estimate.ts";

const ROOT = join(import.meta.dirname, "..");
const TEXTS = join(ROOT, "test/fixtures/tokens");
const PAGE = join(ROOT, "docs/token-counts.md");
const [START, END] = ["<!-- measured -->\n\n", "\n<!-- /measured -->"];

export interface Sample {
	name: string;
	characters: number;
	estimate: number;
	o200k: number;
	llama3: number;
}

export function samples(): Sample[] {
	const files = readdirSync(TEXTS).filter((file) => file.endsWith(".txt"));
	return files.sort().map((file) => {
		const text = readFileSync(join(TEXTS, file), "utf8");
		return {
			name: basename(file, ".txt"),
			characters: text.length,
			estimate: approximateTokens([text]),
			o200k: countO200k(text),
			llama3: llama3.encode(text, { bos: false, eos: false }).length,
		};
	});
}

/** Relative error of the estimate: 0.05 is five percent too high. */
export const error = ({ estimate }: Sample, count: number): number => estimate / count - 1;

/** The expected count of an unknown engine. */
export const between = ({ o200k, llama3 }: Sample): number => (o200k + llama3) / 2;

const percent = (share: number): string => {
	const text = (share * 100).toFixed(1);
	return share < 0 || text === "0.0" ? `${text} %` : `+${text} %`;
};

export function table(measured: readonly Sample[]): string {
	const rows = [
		["Text", "Characters", "Estimate", "o200k", "Error", "Llama 3", "Error", "Between the two"],
		...measured.map((sample) => [
			sample.name,
			...[sample.characters, sample.estimate, sample.o200k].map(String),
			percent(error(sample, sample.o200k)),
			String(sample.llama3),
			percent(error(sample, sample.llama3)),
			percent(error(sample, between(sample))),
		]),
	];
	const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
	const line = (cells: readonly string[]): string =>
		`| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
	const rule = widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
	return [rows[0] ?? [], rule, ...rows.slice(1)].map(line).join("\n");
}

/** The page, split at its table. */
export function page(): { before: string; measured: string; after: string } {
	const text = readFileSync(PAGE, "utf8");
	const [from, to] = [text.indexOf(START) + START.length, text.indexOf(END)];
	return { before: text.slice(0, from), measured: text.slice(from, to), after: text.slice(to) };
}

if (import.meta.main) {
	const { before, after } = page();
	writeFileSync(PAGE, `${before}${table(samples())}\n${after}`);
}
