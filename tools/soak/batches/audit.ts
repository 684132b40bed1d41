/**
 * Compares the books of a batch: the calls that its engine recorded, the lines of its files of results, the rows of the account, and the
 * counts of the batch. The expected prices are calculated here, from the counts of the engine.
 */
import { micro, type Row, type Totals } from "../gateway.ts";
import { answerOf, countsOf, type LineEngine } from "./engine.ts";

/** Neurons per million tokens. */
export const PRICES = { input: 20_000, output: 130_001 };
export const DISCOUNT = 0.5;

export interface ResultLine {
	custom_id: string;
	response: {
		status_code: number;
		request_id: string;
		body: { choices: { message: { content: string } }[] };
	} | null;
}

/** What the gateway tells. */
export interface BatchBooks {
	state: {
		status: string;
		request_counts: { total: number; completed: number; failed: number };
		usage: { input_tokens: number; output_tokens: number; neurons: number; neurons_without_discount: number };
	};
	output: readonly ResultLine[];
	errors: readonly ResultLine[];
	rows: readonly Row[];
	totals: Totals;
	openRequests: number;
	repeatedLines: number;
}

export interface BatchVerdict {
	/** Lines with exactly one answer, the right one. */
	answered: number;
	/** Lines with exactly one bill, the right one. */
	billed: number;
	/** Calls of the engine that the account did not pay. */
	repeated: number;
	problems: string[];
}

/** Micro-neurons. */
const priceOf = ({ input, output }: { input: number; output: number }): number =>
	input * PRICES.input + output * PRICES.output;

export function auditBatch(lines: number, engine: LineEngine, books: BatchBooks): BatchVerdict {
	const problems: string[] = [];
	const expect = (what: string, found: unknown, expected: unknown): void => {
		if (JSON.stringify(found) !== JSON.stringify(expected))
			problems.push(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
	};
	const { state, output, errors, rows, totals } = books;
	const numbers = Array.from({ length: lines }, (_, line) => line);
	const uncalled = numbers.filter((line) => !engine.calls.has(line));
	expect("lines that the engine has not seen", uncalled, []);

	const answers = new Map<string, ResultLine[]>();
	for (const line of output) answers.set(line.custom_id, [...(answers.get(line.custom_id) ?? []), line]);
	const isAnswered = (line: number): boolean => {
		const own = answers.get(`line-${line}`) ?? [];
		const [answer] = own;
		return (
			own.length === 1 &&
			answer?.response?.status_code === 200 &&
			answer.response.body.choices[0]?.message.content === answerOf(line)
		);
	};
	const answered = numbers.filter(isAnswered).length;
	expect("lines of the output", output.length, lines);
	expect("lines of the errors", errors, []);
	expect("counts of the batch", state.request_counts, { total: lines, completed: lines, failed: 0 });
	expect("status of the batch", state.status, "completed");

	const bills = new Map<string, Row>();
	for (const row of rows.filter(({ outcome }) => outcome === "ok")) {
		if (bills.has(row.id)) problems.push(`${row.id} has two rows`);
		bills.set(row.id, row);
	}
	/** A row has the request id of the line. A retry of the gateway has an id of its own. */
	const isBilled = (line: number): boolean => {
		const row = bills.get(answers.get(`line-${line}`)?.[0]?.response?.request_id ?? "");
		const { input, output: sent } = countsOf(line);
		return (
			row?.input_tokens === input &&
			row.output_tokens === sent &&
			micro(row.neurons) === Math.ceil(priceOf(countsOf(line)) * DISCOUNT)
		);
	};
	const billed = numbers.filter(isBilled).length;
	expect("rows with a bill", bills.size, lines);
	for (const row of rows) {
		if (row.outcome !== "ok" && row.neurons > 0) problems.push(`${row.id} is ${row.outcome} and not free`);
		if (row.outcome === "open") problems.push(`${row.id} is open`);
	}
	const sum = (value: (line: number) => number): number =>
		numbers.reduce((total, line) => total + value(line), 0);
	const expected = {
		input: sum((line) => countsOf(line).input),
		output: sum((line) => countsOf(line).output),
		paid: sum((line) => Math.ceil(priceOf(countsOf(line)) * DISCOUNT)),
		full: sum((line) => priceOf(countsOf(line))),
	};
	expect("micro-neurons of the account", micro(totals.neurons), expected.paid);
	expect(
		"tokens of the account",
		[totals.input_tokens, totals.output_tokens],
		[expected.input, expected.output],
	);
	expect(
		"tokens of the batch",
		[state.usage.input_tokens, state.usage.output_tokens],
		[expected.input, expected.output],
	);
	expect("micro-neurons of the batch", micro(state.usage.neurons), expected.paid);
	expect("micro-neurons without the discount", micro(state.usage.neurons_without_discount), expected.full);
	expect("open requests of the account", books.openRequests, 0);

	const repeated = [...engine.calls.values()].reduce((total, calls) => total + calls, 0) - lines;
	if (repeated > books.repeatedLines)
		problems.push(
			`the engine was called ${repeated} times too often, the gateway knows of ${books.repeatedLines}`,
		);
	return { answered, billed, repeated, problems };
}
