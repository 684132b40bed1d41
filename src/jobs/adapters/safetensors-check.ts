/**
 * Checks a safetensors file while it passes (github.com/huggingface/safetensors: 8 bytes with the length of the header, the header as JSON,
 * the bytes of the tensors without gaps). Only the header is in memory.
 */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { own } from "../../core/own.ts";
import { concat } from "../../media/bytes.ts";
import { decodeStrictUtf8 } from "../../media/utf8.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import { WEIGHTS_FILE } from "./records.ts";

const LENGTH_BYTES = 8;
/** The format allows 100 MB. The header of an adapter with 10,000 tensors has about 2 MB. */
const MAX_HEADER_BYTES = 8 * 1024 * 1024;
/** Bits of one number. Types of whole numbers are not those of an adapter. */
const FLOAT_BITS: Readonly<Record<string, number>> = {
	F64: 64,
	F32: 32,
	F16: 16,
	BF16: 16,
	F8_E4M3: 8,
	F8_E5M2: 8,
};
const BYTE_BITS = 8;
/** PEFT's name of the tensor that has the rank as one side. That of an embedding is the second form. */
const RANKED = /lora_(?:A|embedding_A)\b/;

const Offset = z.int().min(0);
const Tensor = lazy(() =>
	z.object({
		dtype: z.string(),
		shape: z.array(Offset).max(8),
		data_offsets: z.tuple([Offset, Offset]),
	}),
);
type TensorEntry = z.output<ReturnType<typeof Tensor>>;

export class SafetensorsCheck {
	readonly #maxRank: number;
	#header: Uint8Array[] = [];
	/** Bytes of the file so far. */
	#bytes = 0;
	#headerEnd: number | undefined;
	/** What the header says of the file. `undefined`: not read yet. */
	#declared: { bytes: number; rank: number } | undefined;

	constructor(maxRank: number) {
		this.#maxRank = maxRank;
	}

	/** Throws 1001 as soon as the file is known to be invalid. */
	add(piece: Uint8Array): void {
		this.#bytes += piece.length;
		if (!this.#declared) this.#addToHeader(piece);
		if (this.#declared && this.#bytes > this.#declared.bytes)
			throw invalid(`expected ${this.#declared.bytes} bytes as in its header, found more`);
	}

	/** At the end of the file. Returns the largest rank. */
	end(): number {
		if (!this.#declared) throw invalid("the file ends before its header does");
		const { bytes, rank } = this.#declared;
		if (this.#bytes < bytes) throw invalid(`expected ${bytes} bytes as in its header, found ${this.#bytes}`);
		return rank;
	}

	#addToHeader(piece: Uint8Array): void {
		// The store frees the piece.
		this.#header.push(piece.slice());
		if (this.#headerEnd === undefined && this.#bytes >= LENGTH_BYTES) {
			const begin = concat(this.#header);
			this.#header = [begin];
			const length = Buffer.from(begin.buffer, begin.byteOffset, LENGTH_BYTES).readBigUInt64LE();
			if (length > BigInt(MAX_HEADER_BYTES))
				throw invalid(`expected a header of at most ${MAX_HEADER_BYTES} bytes, found ${length}`);
			this.#headerEnd = LENGTH_BYTES + Number(length);
		}
		const end = this.#headerEnd;
		if (end === undefined || this.#bytes < end) return;
		const { bytes, rank } = readHeader(concat(this.#header).subarray(LENGTH_BYTES, end), this.#maxRank);
		this.#header = [];
		this.#declared = { bytes: end + bytes, rank };
	}
}

/** Returns the bytes of all tensors, and the largest rank. */
function readHeader(json: Uint8Array, maxRank: number): { bytes: number; rank: number } {
	const tensors = tensorsOf(json);
	let at = 0;
	let rank = 0;
	for (const [name, { dtype, shape, data_offsets }] of tensors) {
		const [from, to] = data_offsets;
		const bits = own(FLOAT_BITS, dtype);
		if (bits === undefined)
			throw invalidTensor(name, `expected a dtype of ${Object.keys(FLOAT_BITS).join(", ")}, found another`);
		if (from !== at) throw invalidTensor(name, `expected data from byte ${at}, found ${from}`);
		const bytes = (shape.reduce((product, side) => product * side, 1) * bits) / BYTE_BITS;
		if (to - from !== bytes)
			throw invalidTensor(name, `expected ${bytes} bytes for its shape, found ${to - from}`);
		at = to;
		if (RANKED.test(name)) rank = Math.max(rank, Math.min(...shape));
	}
	if (rank === 0) throw invalid("expected tensors of LoRA matrices (lora_A), found none");
	if (rank > maxRank) throw invalid(`expected a rank of at most ${maxRank}, found ${rank}`);
	return { bytes: at, rank };
}

/** In the order of their bytes. */
function tensorsOf(json: Uint8Array): [string, TensorEntry][] {
	const tensors: [string, TensorEntry][] = [];
	for (const [name, entry] of Object.entries(objectOf(json))) {
		if (name === "__metadata__") continue;
		const parsed = safeParse(Tensor(), entry);
		if (!parsed.success) throw invalidTensor(name, "expected dtype, shape and data_offsets");
		tensors.push([name, parsed.data]);
	}
	return tensors.sort(([, one], [, other]) => {
		const [from, to] = one.data_offsets;
		const [otherFrom, otherTo] = other.data_offsets;
		return from - otherFrom || to - otherTo;
	});
}

function objectOf(json: Uint8Array): object {
	try {
		const header: unknown = JSON.parse(decodeStrictUtf8(json));
		if (typeof header === "object" && header !== null && !Array.isArray(header)) return header;
	} catch {
		// Reported below.
	}
	throw invalid("expected a header of JSON, found another text");
}

/** Names in the header are the caller's text: a long one would fill the log. */
const MAX_SHOWN_NAME = 128;

const invalid = (problem: string): AiError => new AiError("invalidRequest", `${WEIGHTS_FILE}: ${problem}`);
const invalidTensor = (name: string, problem: string): AiError =>
	invalid(`tensor ${name.slice(0, MAX_SHOWN_NAME)}: ${problem}`);
