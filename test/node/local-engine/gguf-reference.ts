/** What llama-server must compute with a GGUF file: from the numbers of the file, in double precision, without its code. */
import type { Gguf } from "./gguf.ts";

type Row = readonly number[];

const TENTH_BIT = 10;
/** The exponent of the smallest normal number of 16 bits. */
const LEAST_EXPONENT = -14;
/** ggml replaces numbers above it by themselves, and below its negative by 0. */
const GELU_LIMIT = 10;
const DEFAULT_ROTATION = 10_000;

class Reader {
	readonly #model: Gguf;
	readonly #architecture: string;

	constructor(model: Gguf) {
		this.#model = model;
		this.#architecture = String(model.fields["general.architecture"]);
	}

	field(name: string): number {
		const value = this.#model.fields[`${this.#architecture}.${name}`];
		return Number(typeof value === "object" && "float" in value ? Math.fround(value.float) : value);
	}

	row(name: string, at = 0): Row {
		const { dims, data } = this.#tensor(name);
		const [length = 0] = dims;
		return data.slice(at * length, (at + 1) * length).map(Math.fround);
	}

	/** The product of a matrix and each row, and the bias, if it has one. */
	linear(name: string, rows: readonly Row[]): number[][] {
		const { dims, data } = this.#tensor(`${name}.weight`);
		const [length = 0] = dims;
		const matrix = Float32Array.from(data);
		const bias = this.#model.tensors[`${name}.bias`]?.data;
		return rows.map((row) =>
			Array.from({ length: matrix.length / length }, (_, at) => {
				let sum = Math.fround(bias?.[at] ?? 0);
				for (let column = 0; column < length; column++)
					sum += (matrix[at * length + column] ?? 0) * (row[column] ?? 0);
				return sum;
			}),
		);
	}

	#tensor(name: string) {
		const tensor = this.#model.tensors[name];
		if (!tensor) throw new Error(`the file has no ${name}`);
		return tensor;
	}
}

const sum = (row: Row): number => row.reduce((total, one) => total + one, 0);
const added = (one: Row, other: Row): number[] => one.map((value, at) => value + (other[at] ?? 0));
const multiplied = (one: Row, other: Row): number[] => one.map((value, at) => value * (other[at] ?? 0));
const addedRows = (rows: readonly Row[], others: readonly Row[]): number[][] =>
	rows.map((row, at) => added(row, others[at] ?? []));

function softmax(row: Row): number[] {
	const most = Math.max(...row);
	const powers = row.map((value) => Math.exp(value - most));
	const total = sum(powers);
	return powers.map((power) => power / total);
}

/** `mayRead`: whether a position reads another one. */
function attention(
	{ queries, keys, values }: Record<"queries" | "keys" | "values", readonly Row[]>,
	heads: number,
	mayRead: (from: number, to: number) => boolean,
): number[][] {
	const width = (queries[0]?.length ?? 0) / heads;
	const shared = heads / ((keys[0]?.length ?? 0) / width);
	return queries.map((query, from) =>
		Array.from({ length: heads }, (_, head) => {
			const partOf = (row: Row, part: number): Row => row.slice(part * width, (part + 1) * width);
			const group = Math.floor(head / shared);
			const readable = [...keys.keys()].filter((to) => mayRead(from, to));
			const scores = readable.map(
				(to) => sum(multiplied(partOf(query, head), partOf(keys[to] ?? [], group))) / Math.sqrt(width),
			);
			const shares = softmax(scores);
			return Array.from({ length: width }, (__, at) =>
				sum(readable.map((to, index) => (shares[index] ?? 0) * (values[to]?.[group * width + at] ?? 0))),
			);
		}).flat(),
	);
}

/** Turns neighbouring numbers of each head by an angle that depends on the position. */
function rotated(row: Row, position: number, width: number): number[] {
	return row.map((value, at) => {
		const pair = Math.floor((at % width) / 2);
		const angle = position * DEFAULT_ROTATION ** ((-2 * pair) / width);
		const other = row[at % 2 === 0 ? at + 1 : at - 1] ?? 0;
		return value * Math.cos(angle) + (at % 2 === 0 ? -other : other) * Math.sin(angle);
	});
}

/** The architecture `llama`: the logits after each token. */
export function logitsOf(model: Gguf, tokens: readonly number[]): number[][] {
	const reader = new Reader(model);
	const heads = reader.field("attention.head_count");
	const headWidth = reader.field("embedding_length") / heads;
	const epsilon = reader.field("attention.layer_norm_rms_epsilon");
	const normed = (rows: readonly Row[], name: string): number[][] => {
		const scale = reader.row(`${name}.weight`);
		return rows.map((row) => {
			const root = Math.sqrt(sum(multiplied(row, row)) / row.length + epsilon);
			return row.map((value, at) => (value / root) * (scale[at] ?? 0));
		});
	};
	let rows = tokens.map((token) => [...reader.row("token_embd.weight", token)]);
	for (let layer = 0; layer < reader.field("block_count"); layer++) {
		const name = `blk.${layer}`;
		const read = normed(rows, `${name}.attn_norm`);
		const positioned = (part: string): number[][] =>
			reader.linear(`${name}.${part}`, read).map((row, position) => rotated(row, position, headWidth));
		const parts = {
			...{ queries: positioned("attn_q"), keys: positioned("attn_k") },
			values: reader.linear(`${name}.attn_v`, read),
		};
		const joined = attention(parts, heads, (from, to) => to <= from);
		rows = addedRows(rows, reader.linear(`${name}.attn_output`, joined));
		const inner = normed(rows, `${name}.ffn_norm`);
		const up = reader.linear(`${name}.ffn_up`, inner);
		const gated = reader.linear(`${name}.ffn_gate`, inner).map((row, at) =>
			multiplied(
				row.map((value) => value / (1 + Math.exp(-value))),
				up[at] ?? [],
			),
		);
		rows = addedRows(rows, reader.linear(`${name}.ffn_down`, gated));
	}
	return reader.linear("output", normed(rows, "output_norm"));
}

export const logProbabilities = (logits: Row): number[] => softmax(logits).map(Math.log);

/** The nearest number of 16 bits. */
function halfPrecision(value: number): number {
	if (value === 0) return 0;
	const exponent = Math.max(LEAST_EXPONENT, Math.floor(Math.log2(Math.abs(value))));
	const step = 2 ** (exponent - TENTH_BIT);
	return Math.round(value / step) * step;
}

/** ggml reads it in a table that has a row for each number of 16 bits. */
function gelu(value: number): number {
	if (Math.abs(value) >= GELU_LIMIT) return Math.max(0, value);
	const half = halfPrecision(value);
	return halfPrecision(
		0.5 * half * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * half * (1 + 0.044715 * half * half))),
	);
}

/** The architecture `bert`: a row for each token. */
export function hiddenOf(model: Gguf, tokens: readonly number[]): number[][] {
	const reader = new Reader(model);
	const epsilon = reader.field("attention.layer_norm_epsilon");
	const normed = (rows: readonly Row[], name: string): number[][] => {
		const [scale, shift] = [reader.row(`${name}.weight`), reader.row(`${name}.bias`)];
		return rows.map((row) => {
			const mean = sum(row) / row.length;
			const centred = row.map((value) => value - mean);
			const root = Math.sqrt(sum(multiplied(centred, centred)) / row.length + epsilon);
			return centred.map((value, at) => (value / root) * (scale[at] ?? 0) + (shift[at] ?? 0));
		});
	};
	const kind = reader.row("token_types.weight");
	const placed = tokens.map((token, position) =>
		added(added(reader.row("token_embd.weight", token), kind), reader.row("position_embd.weight", position)),
	);
	let rows = normed(placed, "token_embd_norm");
	for (let layer = 0; layer < reader.field("block_count"); layer++) {
		const name = `blk.${layer}`;
		const part = (of: string): number[][] => reader.linear(`${name}.attn_${of}`, rows);
		const parts = { queries: part("q"), keys: part("k"), values: part("v") };
		const joined = attention(parts, reader.field("attention.head_count"), () => true);
		const read = normed(
			addedRows(rows, reader.linear(`${name}.attn_output`, joined)),
			`${name}.attn_output_norm`,
		);
		const inner = reader.linear(`${name}.ffn_up`, read).map((row) => row.map(gelu));
		rows = normed(addedRows(read, reader.linear(`${name}.ffn_down`, inner)), `${name}.layer_output_norm`);
	}
	return rows;
}

export function embeddingOf(model: Gguf, tokens: readonly number[], pooling: "mean" | "cls"): number[] {
	const [first = [], ...others] = hiddenOf(model, tokens);
	const pooled = pooling === "cls" ? first : others.reduce(added, first);
	const length = Math.sqrt(sum(multiplied(pooled, pooled)));
	return pooled.map((value) => value / length);
}

/** The logit of a ranking. */
export function rankOf(model: Gguf, tokens: readonly number[]): number {
	const reader = new Reader(model);
	const [first = []] = hiddenOf(model, tokens);
	const head = reader.linear("cls", [first]).map((row) => row.map(Math.tanh));
	return reader.linear("cls.output", head)[0]?.[0] ?? Number.NaN;
}
