/** Writes ONNX models by hand: the fields of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto) that small models need. */

const FLOAT = 1;
const INT64 = 7;
const IR_VERSION = 8;
const OPSET = 14;

export interface Weight {
	name: string;
	dims: number[];
	data: readonly number[];
	/** Default: floating-point numbers. */
	isInteger?: true;
}

interface Node {
	op: string;
	inputs: string[];
	outputs: string[];
	/** Whole numbers, or lists of them. */
	attributes?: Record<string, number | number[]>;
}

interface Port {
	name: string;
	isInteger?: true;
	/** A text names a length that may differ. */
	dims: (number | string)[];
}

export interface Graph {
	nodes: Node[];
	weights: Weight[];
	inputs: Port[];
	outputs: Port[];
}

function varint(value: number): number[] {
	const bytes: number[] = [];
	let left = BigInt.asUintN(64, BigInt(value));
	while (left > 127n) {
		bytes.push(Number(left & 127n) | 128);
		left >>= 7n;
	}
	return [...bytes, Number(left)];
}

const whole = (field: number, value: number): Buffer =>
	Buffer.from([...varint(field << 3), ...varint(value)]);
const bytes = (field: number, content: Buffer | string): Buffer => {
	const buffer = Buffer.from(content as string);
	return Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(buffer.length)]), buffer]);
};
const message = (field: number, ...parts: Buffer[]): Buffer => bytes(field, Buffer.concat(parts));

function tensor({ name, dims, data, isInteger }: Weight): Buffer {
	const raw = isInteger ? BigInt64Array.from(data, BigInt) : Float32Array.from(data);
	return Buffer.concat([
		...dims.map((dim) => whole(1, dim)),
		whole(2, isInteger ? INT64 : FLOAT),
		bytes(8, name),
		bytes(9, Buffer.from(raw.buffer)),
	]);
}

const attribute = (name: string, value: number | number[]): Buffer =>
	Array.isArray(value)
		? message(5, bytes(1, name), ...value.map((one) => whole(8, one)), whole(20, 7))
		: message(5, bytes(1, name), whole(3, value), whole(20, 2));

const port = (field: number, { name, isInteger, dims }: Port): Buffer => {
	const shape = dims.map((dim) => message(1, typeof dim === "number" ? whole(1, dim) : bytes(2, dim)));
	return message(
		field,
		bytes(1, name),
		message(2, message(1, whole(1, isInteger ? INT64 : FLOAT), message(2, ...shape))),
	);
};

export function writeOnnx({ nodes, weights, inputs, outputs }: Graph): Buffer {
	const graph = [
		...nodes.map(({ op, inputs: from, outputs: to, attributes = {} }) =>
			message(
				1,
				...from.map((name) => bytes(1, name)),
				...to.map((name) => bytes(2, name)),
				bytes(4, op),
				...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
			),
		),
		bytes(2, "graph"),
		...weights.map((weight) => message(5, tensor(weight))),
		...inputs.map((one) => port(11, one)),
		...outputs.map((one) => port(12, one)),
	];
	return Buffer.concat([
		whole(1, IR_VERSION),
		message(7, ...graph),
		message(8, bytes(1, ""), whole(2, OPSET)),
	]);
}
