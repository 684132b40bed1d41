/**
 * Most events of a chat stream have the same text, except for the content of the delta. Such an event is recognised by its
 * bytes and is neither decoded nor parsed: a writer copies the bytes of its content. All other events are parsed.
 */
import { concat } from "../media/bytes.ts";
import { decodeUtf8 } from "../media/utf8.ts";
import { BACKSLASH, hasAt, QUOTE, textOfJson } from "./json-bytes.ts";

/** Stands for the content in a template. `JSON.stringify` does not escape it. */
const MARK = "{the content of the delta}";
const CONTENT_FIELD = /"content"\s*:\s*"/;
const DATA = "data: ";
const END = "\n\n";

const encoder = new TextEncoder();

/** The bytes of an event before and after the content. */
export interface Surroundings {
	before: Uint8Array;
	after: Uint8Array;
}

/** The common parts of all events of one form. */
export class EventTemplate implements Surroundings {
	readonly before: Uint8Array;
	readonly after: Uint8Array;
	/** The data of an event whose content is {@link MARK}. */
	readonly #markedData: string;

	/**
	 * The template of an event with the data `data`. `contentOf` reads the content of parsed data, as any event of the
	 * template has it. `undefined` if the content cannot be replaced in the text.
	 */
	static of(data: string, contentOf: (value: unknown) => unknown): EventTemplate | undefined {
		const field = CONTENT_FIELD.exec(data);
		if (!field || /[\r\n]/.test(data) || data.includes(MARK)) return undefined;
		const from = field.index + field[0].length;
		let to = from;
		while (to < data.length && data.charCodeAt(to) !== QUOTE) to += data.charCodeAt(to) === BACKSLASH ? 2 : 1;
		const marked = data.slice(0, from) + MARK + data.slice(to);
		try {
			return contentOf(JSON.parse(marked)) === MARK ? new EventTemplate(marked) : undefined;
		} catch {
			return undefined;
		}
	}

	private constructor(markedData: string) {
		this.#markedData = markedData;
		const [before = "", after = ""] = markedData.split(MARK);
		this.before = encoder.encode(DATA + before);
		this.after = encoder.encode(after + END);
	}

	/** `undefined` if the text that `write` returns has not exactly one content. */
	written(write: (data: string) => string): Surroundings | undefined {
		const [before, after, ...others] = write(this.#markedData).split(MARK);
		if (before === undefined || after === undefined || others.length > 0) return undefined;
		return { before: encoder.encode(before), after: encoder.encode(after) };
	}

	/** The event with this content, which is not empty. */
	write(text: string): DeltaEvent {
		return new DeltaEvent(this, text, encoder.encode(JSON.stringify(text).slice(1, -1)));
	}

	/** Reads a complete event. `undefined` if it has another form, or a content that has to be parsed. */
	read(event: Uint8Array): DeltaEvent | undefined {
		const { before, after } = this;
		const to = event.length - after.length;
		if (to <= before.length || !hasAt(event, before, 0) || !hasAt(event, after, to)) return undefined;
		const text = textOfJson(event, before.length, to);
		return text === undefined ? undefined : new DeltaEvent(this, text, event.subarray(before.length, to));
	}
}

/** The content of an event. */
export interface DeltaContent {
	/** Not empty. */
	readonly text: string;
	/** The text as a JSON string, without its quotation marks. */
	readonly content: Uint8Array;
}

/** An event of a template with one content. Its data is built and parsed only if it is used. */
export class DeltaEvent implements DeltaContent {
	readonly template: EventTemplate;
	readonly text: string;
	readonly content: Uint8Array;

	constructor(template: EventTemplate, text: string, content: Uint8Array) {
		this.template = template;
		this.text = text;
		this.content = content;
	}

	get data(): string {
		const { before, after } = this.template;
		const event = decodeUtf8(concat([before, this.content, after]));
		return event.slice(DATA.length, -END.length);
	}

	get value(): unknown {
		return JSON.parse(this.data);
	}
}

/**
 * Returns what a writer writes around the contents of a template's events. `write` returns the text for the data of one event;
 * it must not depend on the content.
 */
export function surroundingsBy(
	write: (data: string) => string,
): (template: EventTemplate) => Surroundings | undefined {
	let last: { template: EventTemplate; surroundings: Surroundings | undefined } | undefined;
	return (template) => {
		if (last?.template !== template) last = { template, surroundings: template.written(write) };
		return last.surroundings;
	};
}

/** Collects the output of a stage, as text and as bytes. */
export class Output {
	#text = "";
	#parts: Uint8Array[] = [];

	get isEmpty(): boolean {
		return this.#text === "" && this.#parts.length === 0;
	}

	add(text: string): void {
		this.#text += text;
	}

	/** Adds an event with the content of `event` between other bytes. */
	addDelta({ content }: DeltaEvent, { before, after }: Surroundings): void {
		this.#endText();
		this.#parts.push(before, content, after);
	}

	/** Returns and releases the output, `undefined` if there is none. */
	take(): Uint8Array | undefined {
		this.#endText();
		const parts = this.#parts;
		if (parts.length === 0) return undefined;
		this.#parts = [];
		return parts.length === 1 ? parts[0] : concat(parts);
	}

	#endText(): void {
		if (this.#text === "") return;
		this.#parts.push(encoder.encode(this.#text));
		this.#text = "";
	}
}
