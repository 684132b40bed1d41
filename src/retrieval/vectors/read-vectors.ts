/**
 * Reads the vectors of an insert or upsert, from JSON objects or lines of JSON. The values are packed as float32, so that a large upload needs
 * little memory. The first vector that is invalid refuses them all.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import type { BufferHold } from "../../core/process-counts.ts";
import {
	idTooLong,
	metadataInvalid,
	namespaceTooLong,
	tooManyVectors,
	vectorsUnreadable,
	vectorWidth,
} from "./failures.ts";
import { MAX_ID_BYTES, MAX_NAMESPACE_BYTES } from "./limits.ts";
import { bytesOfText, metadataJson } from "./metadata.ts";
import type { VectorBatch, VectorRecord } from "./records.ts";

/** Of the values of a batch, and of its records: a row of the journal has at most 2 MB. */
const BATCH_BYTES = 1_000_000;
/** Other requests wait while a batch is written. */
const BATCH_RECORDS = 500;
const FLOAT_BYTES = 4;

export interface ReaderOptions {
	operation: "insert" | "upsert";
	dimensions: number;
	maxVectors: number;
	/** Lines that are no vectors are ignored. */
	discardUnreadable?: boolean;
	/** The bytes of the vectors count as buffered. */
	hold: BufferHold;
}

export class VectorReader {
	readonly #options: ReaderOptions;
	readonly #batches: VectorBatch[] = [];
	#records: VectorRecord[] = [];
	#values: Float32Array<ArrayBuffer>;
	#bytes = 0;
	#count = 0;
	#lines = 0;

	constructor(options: ReaderOptions) {
		this.#options = options;
		this.#values = this.#newValues();
	}

	get #slots(): number {
		const slots = Math.floor(BATCH_BYTES / (this.#options.dimensions * FLOAT_BYTES));
		return Math.max(1, Math.min(BATCH_RECORDS, slots));
	}

	#newValues(): Float32Array<ArrayBuffer> {
		return new Float32Array(Math.min(this.#slots, this.#options.maxVectors) * this.#options.dimensions);
	}

	/** A line of NDJSON. An empty one is ignored. */
	addLine(line: string): void {
		const text = line.trim();
		if (text === "") return;
		const { discardUnreadable, operation } = this.#options;
		const number = this.#lines++;
		const vector = text.isWellFormed() ? parseJson(text) : undefined;
		if (isVector(vector)) this.#add(vector);
		else if (!discardUnreadable)
			throw vectorsUnreadable(operation, `ndjson format: line Some(${number}) was not expected format`);
	}

	/** A vector of a JSON body. */
	addValue(vector: unknown): void {
		if (!isVector(vector)) throw vectorsUnreadable(this.#options.operation, "json format");
		this.#add(vector);
	}

	#add({ id, values, namespace, metadata }: SentVector): void {
		const { dimensions, hold, maxVectors } = this.#options;
		const idBytes = bytesOfText(id);
		if (idBytes > MAX_ID_BYTES) throw idTooLong(MAX_ID_BYTES, idBytes);
		if (values.length !== dimensions) throw vectorWidth(id, dimensions, values.length);
		if (++this.#count > maxVectors) throw tooManyVectors(maxVectors, this.#count);
		const namespaceBytes = bytesOfText(namespace ?? "");
		if (namespaceBytes > MAX_NAMESPACE_BYTES) throw namespaceTooLong(MAX_NAMESPACE_BYTES, namespaceBytes);
		if (metadata !== undefined && metadata !== null && !isRecord(metadata))
			throw metadataInvalid(id, "expected an object");
		const json = metadata ? metadataJson(id, metadata) : undefined;
		hold.grow(dimensions * FLOAT_BYTES + idBytes + (json?.length ?? 0));
		if (this.#records.length === this.#slots || this.#bytes > BATCH_BYTES) this.#endBatch();
		this.#values.set(values, this.#records.length * dimensions);
		this.#records.push({
			id,
			...(namespace && { namespace }),
			...(json !== undefined && { metadata: json }),
		});
		this.#bytes += idBytes + (json?.length ?? 0) * 3;
	}

	#endBatch(): void {
		if (this.#records.length === 0) return;
		const values = this.#values.slice(0, this.#records.length * this.#options.dimensions);
		this.#batches.push({ records: this.#records, values });
		this.#records = [];
		this.#bytes = 0;
		this.#values = this.#newValues();
	}

	/** All vectors. Throws 40023 if there are none. */
	end(): VectorBatch[] {
		this.#endBatch();
		if (this.#batches.length === 0)
			throw vectorsUnreadable(this.#options.operation, "ndjson format: no vectors");
		return this.#batches;
	}
}

interface SentVector {
	id: string;
	values: number[];
	namespace?: string | null;
	metadata?: unknown;
}

/** JSON has no NaN. A number beyond float32 would be infinite. */
const isVector = (value: unknown): value is SentVector =>
	isRecord(value) &&
	typeof value.id === "string" &&
	value.id !== "" &&
	value.id.isWellFormed() &&
	isNumbers(value.values) &&
	(value.namespace === undefined || value.namespace === null || typeof value.namespace === "string");

export const isNumbers = (values: unknown): values is number[] =>
	Array.isArray(values) &&
	values.every((value) => typeof value === "number" && Number.isFinite(Math.fround(value)));
