/** An encoder with the layers of bge-small (BERT) and random numbers, so that it takes the time of the real one. Its answers mean nothing. */
import { type Graph, writeOnnx } from "../../test/node/local-engine/onnx.ts";

const LAYERS = 12;
const WIDTH = 384;
const HEADS = 12;
const INNER = 1_536;
const WORDS = 10;

/** Adds the nodes of one operation, and returns the name of its output. */
class Encoder {
	readonly nodes: Graph["nodes"] = [];
	readonly weights: Graph["weights"] = [];

	constructor() {
		this.#constant("two", [2]);
		this.#constant("epsilon", [1e-12]);
		this.#constant("root of two", [Math.SQRT2]);
		this.#constant("one", [1]);
		this.#constant("half", [0.5]);
		this.#constant("scale", [1 / Math.sqrt(WIDTH / HEADS)]);
		this.weights.push({ name: "by head", dims: [4], data: [0, 0, HEADS, WIDTH / HEADS], isInteger: true });
		this.weights.push({ name: "joined", dims: [3], data: [0, 0, WIDTH], isInteger: true });
	}

	do(op: string, inputs: string[], attributes: Graph["nodes"][number]["attributes"] = {}): string {
		const name = `${op} ${this.nodes.length}`;
		this.nodes.push({ op, inputs, outputs: [name], attributes });
		return name;
	}

	random(name: string, dims: number[]): string {
		const scale = Math.sqrt(12 / (dims[0] ?? 1));
		const size = dims.reduce((product, dim) => product * dim, 1);
		this.weights.push({
			name,
			dims,
			data: Array.from({ length: size }, () => (Math.random() - 0.5) * scale),
		});
		return name;
	}

	linear(input: string, name: string, rows: number, columns: number): string {
		const product = this.do("MatMul", [input, this.random(name, [rows, columns])]);
		return this.do("Add", [product, this.random(`${name} bias`, [columns])]);
	}

	normalized(input: string, name: string): string {
		const mean = (of: string): string => this.do("ReduceMean", [of], { axes: [-1], keepdims: 1 });
		const centred = this.do("Sub", [input, mean(input)]);
		const variance = this.do("Add", [mean(this.do("Pow", [centred, "two"])), "epsilon"]);
		const unit = this.do("Div", [centred, this.do("Sqrt", [variance])]);
		const scaled = this.do("Mul", [unit, this.random(`${name} scale`, [WIDTH])]);
		return this.do("Add", [scaled, this.random(`${name} shift`, [WIDTH])]);
	}

	attention(input: string, name: string): string {
		const heads = (part: string, perm: number[]): string =>
			this.do(
				"Transpose",
				[this.do("Reshape", [this.linear(input, `${part} ${name}`, WIDTH, WIDTH), "by head"])],
				{ perm },
			);
		const keys = heads("k", [0, 2, 3, 1]);
		const scores = this.do("Mul", [this.do("MatMul", [heads("q", [0, 2, 1, 3]), keys]), "scale"]);
		const shares = this.do("Softmax", [scores], { axis: 3 });
		const read = this.do("MatMul", [shares, heads("v", [0, 2, 1, 3])]);
		const joined = this.do("Reshape", [this.do("Transpose", [read], { perm: [0, 2, 1, 3] }), "joined"]);
		return this.linear(joined, `o ${name}`, WIDTH, WIDTH);
	}

	/** GELU, in the nodes of an export. */
	bent(input: string): string {
		const erf = this.do("Erf", [this.do("Div", [input, "root of two"])]);
		return this.do("Mul", [this.do("Mul", [input, this.do("Add", [erf, "one"])]), "half"]);
	}

	layer(input: string, name: string): string {
		const read = this.normalized(this.do("Add", [input, this.attention(input, name)]), `first ${name}`);
		const inner = this.bent(this.linear(read, `up ${name}`, WIDTH, INNER));
		return this.normalized(
			this.do("Add", [read, this.linear(inner, `down ${name}`, INNER, WIDTH)]),
			`last ${name}`,
		);
	}

	#constant(name: string, data: number[]): void {
		this.weights.push({ name, dims: [], data });
	}
}

export function randomEncoder(): Buffer {
	const encoder = new Encoder();
	let hidden = encoder.do("Gather", [encoder.random("words", [WORDS, WIDTH]), "input_ids"]);
	for (let layer = 0; layer < LAYERS; layer++) hidden = encoder.layer(hidden, String(layer));
	encoder.nodes.push({ op: "Identity", inputs: [hidden], outputs: ["last_hidden_state"] });
	const dims = ["batch", "length"];
	return writeOnnx({
		...{ nodes: encoder.nodes, weights: encoder.weights },
		inputs: ["input_ids", "attention_mask"].map((name) => ({ name, isInteger: true as const, dims })),
		outputs: [{ name: "last_hidden_state", dims: [...dims, WIDTH] }],
	});
}
