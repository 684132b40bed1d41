/** Reads the header of a GGUF model, and writes a LoRA adapter for it (github.com/ggml-org/ggml/blob/master/docs/gguf.md). */
import { readFileSync } from "node:fs";

const MAGIC = 0x46554747;
const VERSION = 3;
const ALIGNMENT = 32;
const STRING = 8;
const ARRAY = 9;
const FLOAT32 = 6;
/** Bytes of the types of metadata that are numbers. */
const SIZES: Readonly<Record<number, number>> = {
	0: 1,
	1: 1,
	2: 2,
	3: 2,
	4: 4,
	5: 4,
	6: 4,
	7: 1,
	10: 8,
	11: 8,
	12: 8,
};
/** ggml's type of tensors with numbers of 4 bytes. */
const F32 = 0;

interface ModelHeader {
	architecture: string;
	/** By name: the numbers of inputs and outputs. */
	matrices: Map<string, [number, number]>;
}

export function readModel(path: string): ModelHeader {
	const file = readFileSync(path);
	let at = 8;
	const take = (bytes: number): Buffer => {
		const part = file.subarray(at, at + bytes);
		at += bytes;
		return part;
	};
	const count = (): number => Number(take(8).readBigUInt64LE());
	const word = (): number => take(4).readUInt32LE();
	const text = (): string => take(count()).toString("utf8");
	const skip = (type: number): void => {
		if (type === STRING) text();
		else if (type === ARRAY) {
			const [element, length] = [word(), count()];
			for (let index = 0; index < length; index++) skip(element);
		} else take(SIZES[type] ?? 0);
	};
	const [tensors, fields] = [count(), count()];
	let architecture = "";
	for (let index = 0; index < fields; index++) {
		const [key, type] = [text(), word()];
		if (key === "general.architecture") architecture = text();
		else skip(type);
	}
	const matrices: ModelHeader["matrices"] = new Map();
	for (let index = 0; index < tensors; index++) {
		const name = text();
		const sides = Array.from({ length: word() }, count);
		// The type of its numbers, and the place of its bytes.
		take(12);
		const [inputs, outputs] = sides;
		if (inputs !== undefined && outputs !== undefined) matrices.set(name, [inputs, outputs]);
	}
	return { architecture, matrices };
}

/** An adapter of rank 1 of one matrix. `value`: the number at a place of each of its vectors. */
export function loraFile(
	{ architecture, matrices }: ModelHeader,
	matrix: string,
	value: (place: number) => number,
): Uint8Array {
	const [inputs, outputs] = matrices.get(matrix) ?? [0, 0];
	const parts: Buffer[] = [];
	const numbers = (write: (part: Buffer) => void, bytes: number): void => {
		const part = Buffer.alloc(bytes);
		write(part);
		parts.push(part);
	};
	const word = (number: number): void => numbers((part) => part.writeUInt32LE(number), 4);
	const count = (number: number): void => numbers((part) => part.writeBigUInt64LE(BigInt(number)), 8);
	const text = (content: string): void => {
		count(Buffer.byteLength(content));
		parts.push(Buffer.from(content));
	};
	const field = (key: string, content: string): void => {
		text(key);
		word(STRING);
		text(content);
	};
	word(MAGIC);
	word(VERSION);
	count(2);
	count(4);
	field("general.type", "adapter");
	field("general.architecture", architecture);
	field("adapter.type", "lora");
	text("adapter.lora.alpha");
	word(FLOAT32);
	numbers((part) => part.writeFloatLE(1), 4);
	const vectors = [
		{ name: `${matrix}.lora_a`, sides: [inputs, 1] },
		{ name: `${matrix}.lora_b`, sides: [1, outputs] },
	];
	let offset = 0;
	for (const { name, sides } of vectors) {
		text(name);
		word(sides.length);
		for (const side of sides) count(side);
		word(F32);
		count(offset);
		offset += aligned(4 * Math.max(...sides));
	}
	const header = Buffer.concat(parts);
	const data = vectors.map(({ sides }) => {
		const length = Math.max(...sides);
		const part = Buffer.alloc(aligned(4 * length));
		for (let place = 0; place < length; place++) part.writeFloatLE(value(place), 4 * place);
		return part;
	});
	return Buffer.concat([header, Buffer.alloc(aligned(header.length) - header.length), ...data]);
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
