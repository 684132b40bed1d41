/** Values without parts, for a place in a document: from the text, else a default, else the plainest. */
import type { Schema } from "@cfworker/json-schema";
import { COSTLY_PATTERN, type JsonSchema } from "../../schemas/guarded-schema.ts";
import type { Evidence } from "./evidence.ts";
import { ofFormat, sample } from "./formats.ts";
import { MAX_STRING, type SchemaDocument } from "./json-schema.ts";
import type { Hint } from "./kinds.ts";
import { fromPattern } from "./pattern.ts";
import { distinct, given, numbersOf } from "./plain-values.ts";

export interface Filling {
	evidence: Evidence;
	/** Properties that are not required: only those the text has, as in a tool call, or all, as in a JSON document. */
	optional: "found" | "all";
	/** Text for a string that is to be written rather than found: an answer, a summary. */
	written(hint: Hint): string | undefined;
	/** Text for a string that must be there and that nothing was found for. */
	fallback(hint: Hint): string;
	/** Take any quotation or name for a string that must be there, before the fallback. */
	guess: boolean;
}

export interface Place {
	hint: Hint;
	required: boolean;
	depth: number;
	refs: string[];
	/** Whether a reference on the way has come round: as little as may be from here. */
	again: boolean;
	/** Which of several: for members of an array that must differ. */
	nth: number;
	/** The schema of the place as it was written, of which an alternative may be tried. */
	whole: JsonSchema;
}

export interface Built {
	value: unknown;
	/** How many values came from the text. */
	found: number;
	/** How many strings and numbers did not. */
	missing: number;
}

export class Leaves {
	readonly #document: SchemaDocument;
	readonly #filling: Filling;

	constructor(document: SchemaDocument, filling: Filling) {
		this.#document = document;
		this.#filling = filling;
	}

	member(schema: Schema, { required, nth, whole }: Place): Built {
		const members = schema.enum ?? [];
		const fits = (member: unknown) => this.#document.accepts(member, whole);
		const chosen = this.#filling.evidence.mentioned(members, required).filter(fits)[nth];
		if (chosen !== undefined) return { value: chosen, found: 1, missing: 0 };
		if (nth === 0 && Object.hasOwn(schema, "default")) return { value: schema.default, found: 0, missing: 0 };
		// From the one whose turn it is, round to the one before it.
		const from = members.length > 0 ? nth % members.length : 0;
		const value = [...members.slice(from), ...members.slice(0, from)].find(fits);
		return { value, found: 0, missing: 0 };
	}

	truth(schema: Schema, { hint, nth }: Place): Built {
		const said = this.#filling.evidence.truth(hint);
		const value = said ?? given(schema, "boolean") ?? nth % 2 === 1;
		return { value, found: said === undefined ? 0 : 1, missing: 0 };
	}

	string(schema: Schema, { hint, required, nth, whole }: Place): Built {
		const { evidence, guess, fallback, written } = this.#filling;
		const { format = "", maxLength: most = MAX_STRING } = schema;
		const least = Math.min(schema.minLength ?? 0, MAX_STRING);
		const costly: unknown = schema[COSTLY_PATTERN];
		const accepted = (value: string) =>
			this.#document.accepts(value, schema) && this.#document.accepts(value, whole);
		const fits = (value: string) =>
			accepted(value) && (typeof costly !== "string" || this.#document.matches(costly, value));
		const own = written(hint);
		if (own !== undefined && fits(own)) return { value: own, found: 1, missing: 0 };
		const found =
			evidence.take((source) => ofFormat(format, source, evidence.now), fits, required) ??
			evidence.text(hint, fits, required, guess);
		if (found !== undefined) return { value: found, found: 1, missing: 0 };

		const offered = given(schema, "string");
		if (typeof offered === "string" && nth === 0 && accepted(offered))
			return { value: offered, found: 0, missing: 1 };
		const pattern: unknown = schema.pattern ?? costly;
		const patterned = typeof pattern === "string" ? fromPattern(pattern, least) : undefined;
		if (costly !== undefined && patterned !== undefined) return { value: patterned, found: 0, missing: 1 };
		const said = own ?? fallback(hint);
		const mark = nth > 0 ? ` ${nth + 1}` : "";
		const cut = Array.from(said)
			.slice(0, Math.max(0, most - mark.length))
			.join("")
			.concat(mark);
		const tries = [
			sample(format, nth),
			typeof pattern === "string" ? fromPattern(pattern, (patterned?.length ?? 0) + nth) : undefined,
			patterned,
			cut,
			cut.padEnd(least, "."),
			distinct(nth, least, most),
		].filter((value) => value !== undefined);
		return { value: tries.find(fits) ?? tries[0], found: 0, missing: 1 };
	}

	number(schema: Schema, { hint, required, nth, whole }: Place, integer: boolean): Built {
		const fits = (value: number) =>
			this.#document.accepts(value, schema) && this.#document.accepts(value, whole);
		const found = this.#filling.evidence.number(hint, fits, required);
		if (found !== undefined) return { value: found, found: 1, missing: 0 };
		const offered = given(schema, "number");
		if (typeof offered === "number" && nth === 0 && fits(offered))
			return { value: offered, found: 0, missing: 1 };
		return { value: numbersOf(schema, integer, nth).find(fits) ?? nth, found: 0, missing: 1 };
	}
}
