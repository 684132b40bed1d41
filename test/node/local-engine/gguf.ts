/** Writes GGUF files by hand (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): the fields that small models need. */

const VERSION = 3;
const ALIGNMENT = 32;
const FLOAT_TENSOR = 0;
const TYPES = { uint32: 4, int32: 5, float: 6, boolean: 7, string: 8, array: 9 } as const;

/** A number is unsigned and whole, a list has texts or whole numbers. */
export type GgufValue =
	| string
	| boolean
	| number
	| { float: number }
	| { floats: number[] }
	| string[]
	| number[];

export interface GgufTensor {
	/** The fastest dimension first. */
	dims: number[];
	data: readonly number[];
}

export interface Gguf {
	fields: Readonly<Record<string, GgufValue>>;
	tensors: Readonly<Record<string, GgufTensor>>;
}

const number32 = (value: number): Buffer => {
	const buffer = Buffer.alloc(4);
	buffer.writeUInt32LE(value);
	return buffer;
};
const number64 = (value: number): Buffer => {
	const buffer = Buffer.alloc(8);
	buffer.writeBigUInt64LE(BigInt(value));
	return buffer;
};
const text = (value: string): Buffer => {
	const bytes = Buffer.from(value);
	return Buffer.concat([number64(bytes.length), bytes]);
};
const list = (type: number, values: Buffer[]): Buffer =>
	Buffer.concat([number32(TYPES.array), number32(type), number64(values.length), ...values]);
const floats = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const integers = (values: readonly number[]): Buffer[] =>
	values.map((value) => Buffer.from(Int32Array.of(value).buffer));

function typed(value: GgufValue): Buffer {
	if (typeof value === "string") return Buffer.concat([number32(TYPES.string), text(value)]);
	if (typeof value === "boolean") return Buffer.concat([number32(TYPES.boolean), Buffer.of(Number(value))]);
	if (typeof value === "number") return Buffer.concat([number32(TYPES.uint32), number32(value)]);
	if (!Array.isArray(value))
		return "float" in value
			? Buffer.concat([number32(TYPES.float), floats([value.float])])
			: list(
					TYPES.float,
					value.floats.map((one) => floats([one])),
				);
	return typeof value[0] === "string"
		? list(TYPES.string, (value as string[]).map(text))
		: list(TYPES.int32, integers(value as number[]));
}

const padded = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT;

export function writeGguf({ fields, tensors }: Gguf): Buffer {
	let offset = 0;
	const heads: Buffer[] = [];
	const contents: Buffer[] = [];
	for (const [name, { dims, data }] of Object.entries(tensors)) {
		const content = floats(data);
		heads.push(
			...[text(name), number32(dims.length), ...dims.map(number64)],
			...[number32(FLOAT_TENSOR), number64(offset)],
		);
		contents.push(content, Buffer.alloc(padded(content.length) - content.length));
		offset += padded(content.length);
	}
	const head = Buffer.concat([
		...[Buffer.from("GGUF"), number32(VERSION)],
		...[number64(Object.keys(tensors).length), number64(Object.keys(fields).length)],
		...Object.entries(fields).flatMap(([name, value]) => [text(name), typed(value)]),
		...heads,
	]);
	return Buffer.concat([head, Buffer.alloc(padded(head.length) - head.length), ...contents]);
}
