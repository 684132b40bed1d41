/** Reads the text of complete events that is not one `data` line in its usual form. */
import { createParser } from "eventsource-parser";
import { parseJson, parseLooseJson } from "../../core/json.ts";
import type { EventFormat } from "../../streams/event-splitter.ts";
import { dataLines, JSON_START, withUsualFields } from "./chunk-text.ts";

interface EventHandlers {
	/** `isOdd`: clients would read the event differently, or not at all. */
	onData(name: string | undefined, data: string, isOdd: boolean): void;
	onComment(comment: string): void;
	/** A line with an error. */
	onError(error: unknown): void;
}

/** An event that another one follows directly has no blank line. */
export const BLANK_END = /(?:^|\n)\r?\n$/;

export class EventTextReader {
	readonly #on: EventHandlers;
	readonly #format: EventFormat;
	#isOdd = false;
	readonly #parser = createParser({
		onEvent: ({ event, data }) => {
			for (const part of dataLines(data)) this.#on.onData(event, part, this.#isOdd || part !== data);
		},
		onComment: (comment) => this.#on.onComment(comment),
		// llama.cpp: a line "error: {…}". Proxies: the JSON of an error without a field.
		onError: ({ field, value, line = "" }) => {
			if (field === "error") this.#on.onError(parseJson(value ?? "") ?? value);
			else if (JSON_START.test(line)) this.#readJson(line);
		},
	});

	constructor(format: EventFormat, on: EventHandlers) {
		this.#format = format;
		this.#on = on;
	}

	read(sent: string): void {
		if (JSON_START.test(sent)) {
			this.#readJson(sent);
			return;
		}
		const text = withUsualFields(sent);
		const isEnded = this.#format === "sse" && BLANK_END.test(text);
		this.#isOdd = text !== sent || (this.#format === "sse" && !isEnded);
		this.#parser.feed(isEnded ? text : `${text}\n`);
	}

	/** JSON without the fields of an event: a complete reply, or lines of chunks. */
	#readJson(text: string): void {
		const lines = parseLooseJson(text) === undefined ? text.trim().split("\n") : [text.trim()];
		for (const line of lines) if (line.trim() !== "") this.#on.onData(undefined, line, true);
	}
}
