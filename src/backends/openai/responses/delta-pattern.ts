/**
 * Most events of a stream have the next piece of the same text: they differ in it, in their number, and in a padding that hides its
 * length. Such an event is recognised by its bytes, and is neither decoded nor parsed. All others are parsed.
 */
import { isRecord, parseJson } from "../../../core/json.ts";
import type { DeltaContent } from "../../../streams/delta-event.ts";
import { endOfString, hasAt, textOfJson } from "../../../streams/json-bytes.ts";
import type { UpstreamEvent } from "../../transport/translated-stream.ts";

const FIELD = /"(delta|obfuscation|sequence_number)"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)/g;
type FieldName = "delta" | "obfuscation" | "sequence_number";
/** They stand for the values, to see whether these are the fields of the event itself. */
const MARKS: Readonly<Record<FieldName, string | number>> = {
	delta: "{the piece}",
	obfuscation: "{the padding}",
	sequence_number: 987_654_321,
};
/** Longer events are rare. */
const MAX_CHARACTERS = 4_000;
const ZERO = 0x30;
const NINE = 0x39;

const encoder = new TextEncoder();

interface Variable {
	/** The bytes before the value, since the value before it. */
	before: Uint8Array;
	name: FieldName;
}

/** Patterns that are made before one of them fits an event. */
const MAX_PATTERNS = 4;

/** Reads the pieces of one stream. */
export class PieceReader {
	/** The form of the last piece that was parsed, and the key of its part. */
	#last: { pattern: DeltaPattern; key: string } | undefined;
	/** Patterns since one fitted. */
	#unfit = 0;

	/** `undefined`: the event has to be parsed. */
	read(event: Uint8Array): { delta: DeltaContent; key: string } | undefined {
		const delta = this.#last?.pattern.read(event);
		if (!delta || !this.#last) return undefined;
		this.#unfit = 0;
		return { delta, key: this.#last.key };
	}

	/** Called with each piece that was parsed. `key`: of its part. */
	learn(event: UpstreamEvent, key: string): void {
		if (this.#unfit === MAX_PATTERNS) return;
		this.#unfit++;
		const pattern = DeltaPattern.of(event);
		this.#last = pattern && { pattern, key };
	}
}

class DeltaPattern {
	readonly #variables: readonly Variable[];
	readonly #after: Uint8Array;

	/** The pattern of an event with a piece. `undefined` if its fields cannot be replaced in the text. */
	static of({ event, data }: UpstreamEvent): DeltaPattern | undefined {
		if (data.length > MAX_CHARACTERS) return undefined;
		const variables: Variable[] = [];
		let fixed = `${event === undefined ? "" : `event: ${event}\n`}data: `;
		let marked = "";
		let end = 0;
		for (const { 0: field, 1: name, 2: value = "", index } of data.matchAll(FIELD)) {
			const from = index + field.length - value.length;
			const isText = value.startsWith('"');
			fixed += data.slice(end, from) + (isText ? '"' : "");
			variables.push({ before: encoder.encode(fixed), name: name as FieldName });
			marked += data.slice(end, from) + JSON.stringify(MARKS[name as FieldName]);
			fixed = isText ? '"' : "";
			end = from + value.length;
		}
		const tail = data.slice(end);
		const names = variables.map(({ name }) => name);
		if (!names.includes("delta") || new Set(names).size < names.length) return undefined;
		const sent = parseJson(marked + tail);
		if (!isRecord(sent) || names.some((name) => sent[name] !== MARKS[name])) return undefined;
		return new DeltaPattern(variables, encoder.encode(`${fixed}${tail}\n\n`));
	}

	private constructor(variables: readonly Variable[], after: Uint8Array) {
		this.#variables = variables;
		this.#after = after;
	}

	/** The piece of a complete event. `undefined` if the event has another form, or a piece that is empty or has to be parsed. */
	read(event: Uint8Array): DeltaContent | undefined {
		let at = 0;
		let from = 0;
		let to = 0;
		for (const { before, name } of this.#variables) {
			if (!hasAt(event, before, at)) return undefined;
			const start = at + before.length;
			at = name === "sequence_number" ? endOfNumber(event, start) : endOfString(event, start);
			if (name === "delta") {
				from = start;
				to = at;
			} else if (at === start) return undefined;
			else if (name === "obfuscation" && textOfJson(event, start, at) === undefined) return undefined;
		}
		if (at + this.#after.length !== event.length || !hasAt(event, this.#after, at)) return undefined;
		const text = textOfJson(event, from, to);
		return text ? { text, content: event.subarray(from, to) } : undefined;
	}
}

/** The end of the digits that begin at `from`. `from` itself if they are no number. */
function endOfNumber(bytes: Uint8Array, from: number): number {
	let at = from;
	for (let byte = bytes[at]; byte !== undefined && byte >= ZERO && byte <= NINE; byte = bytes[at]) at++;
	return bytes[from] === ZERO && at > from + 1 ? from : at;
}
