/**
 * A document for a JSON Schema, filled from a text. Each value is what the text offers for its place if that is valid
 * there, else a default, else the plainest valid value. Recursive schemas end: what comes round again is left out or
 * kept as small as it may be.
 */
import type { Schema } from "@cfworker/json-schema";
import { COSTLY_PATTERN, type JsonSchema } from "../../schemas/guarded-schema.ts";
import { Evidence } from "./evidence.ts";
import { type Alternative, MAX_ITEMS, type SchemaDocument } from "./json-schema.ts";
import { type Built, type Filling, Leaves, type Place } from "./leaves.ts";
import { extraKey } from "./plain-values.ts";

/** Levels after which only what is required is written, and after which nothing is. */
const FULL_DEPTH = 6;
const MAX_DEPTH = 32;
/** Values built for one document, tries included; then only the first way is taken. */
const MAX_STEPS = 2_000;
/** And after these, nothing more; nor when there is no effort left. */
const LAST_STEP = 20_000;
/** Members of an array that the text fills. */
const MAX_FOUND_ITEMS = 24;

/**
 * A valid document; undefined where none was found, because there is none or the schema is beyond this. With what the
 * text has and all there is room for; else with less; else from the schema alone.
 */
export function instanceOf(document: SchemaDocument, filling: Filling): { value: unknown } | undefined {
	const { now, effort } = filling.evidence;
	const nothing = new Evidence({ primary: "", others: [], now, effort });
	const tries: Filling[] = [
		filling,
		{ ...filling, optional: "found" },
		{ ...filling, optional: "found", evidence: nothing },
	];
	for (const one of tries) {
		one.evidence.restore(0);
		const { value } = new Builder(document, one).build(document.root, ROOT);
		if (value !== undefined && document.accepts(value)) return { value };
	}
	return undefined;
}

const ROOT: Place = {
	hint: { key: "", about: "" },
	required: true,
	depth: 0,
	refs: [],
	again: false,
	nth: 0,
	whole: true,
};

class Builder {
	readonly #document: SchemaDocument;
	readonly #filling: Filling;
	readonly #leaves: Leaves;
	#steps = 0;

	constructor(document: SchemaDocument, filling: Filling) {
		this.#document = document;
		this.#filling = filling;
		this.#leaves = new Leaves(document, filling);
	}

	build(schema: JsonSchema, place: Place): Built {
		const nothing = { value: undefined, found: 0, missing: 0 };
		const { effort } = this.#filling.evidence;
		if (this.#document.isSpent) return nothing;
		if (place.depth > MAX_DEPTH || this.#steps > LAST_STEP || effort.values <= 0) return nothing;
		let alternatives = this.#document.alternatives(schema);
		// What does not come round again first: it is what ends a recursion.
		const round = (one: Alternative) => one.refs.filter((ref) => place.refs.includes(ref)).length;
		if (alternatives.some((one) => round(one) > 0))
			alternatives = alternatives.toSorted((a, b) => round(a) - round(b));

		const { evidence } = this.#filling;
		const before = evidence.given;
		let best: (Built & { given: string[]; isNull: boolean }) | undefined;
		for (const alternative of alternatives) {
			if (best && (this.#steps > MAX_STEPS || (round(alternative) > 0 && place.depth > FULL_DEPTH))) break;
			if (effort.values <= 0) break;
			this.#steps++;
			effort.values--;
			evidence.restore(before);
			const built = this.#plain(alternative, { ...place, whole: schema });
			if (built.value === undefined || !this.#document.accepts(built.value, schema)) continue;
			const isNull = built.value === null && alternative.named;
			// Nothing found is best said as null, where that may be said.
			const better =
				!best ||
				built.found > best.found ||
				(built.found === 0 && best.found === 0 && isNull && !best.isNull);
			if (better) best = { ...built, given: evidence.since(before), isNull };
		}
		evidence.restore(before, best?.given);
		return best ?? nothing;
	}

	#plain({ schema, type, refs }: Alternative, place: Place): Built {
		const about =
			[schema.title, schema.description, place.hint.about].find((text) => typeof text === "string" && text) ??
			"";
		const again = place.again || refs.some((ref) => place.refs.includes(ref));
		const at: Place = {
			...place,
			hint: { key: place.hint.key, about },
			refs: [...place.refs, ...refs],
			again,
		};
		if (Object.hasOwn(schema, "const")) return { value: schema.const, found: 0, missing: 0 };
		if (Array.isArray(schema.enum)) return this.#leaves.member(schema, at);
		switch (type) {
			case "object":
				return this.#object(schema, at);
			case "array":
				return this.#array(schema, at);
			case "string":
				return this.#leaves.string(schema, at);
			case "number":
			case "integer":
				return this.#leaves.number(schema, at, type === "integer");
			case "boolean":
				return this.#leaves.truth(schema, at);
			case "null":
				return { value: null, found: 0, missing: 0 };
			default:
				return type satisfies never;
		}
	}

	#object(schema: Schema, place: Place): Built {
		const properties = Object.entries(schema.properties ?? {});
		const required = new Set(schema.required ?? []);
		const values = new Map<string, unknown>();
		let [found, missing] = [0, 0];
		const all = this.#filling.optional === "all" && !place.again && place.depth < FULL_DEPTH;
		const most = schema.maxProperties ?? Number.POSITIVE_INFINITY;
		const least = schema.minProperties ?? 0;
		const fill = (key: string, part: JsonSchema, must: boolean): boolean => {
			const before = this.#filling.evidence.given;
			const built = this.build(part, {
				...place,
				hint: { key, about: "" },
				required: must || all,
				depth: place.depth + 1,
			});
			const kept = built.value !== undefined && (must || all || built.found > 0);
			if (kept) values.set(key, built.value);
			else this.#filling.evidence.restore(before);
			found += kept ? built.found : 0;
			missing += kept ? built.missing : 0;
			return kept;
		};

		const needed = [...properties.map(([key]) => key).filter((key) => required.has(key)), ...required];
		// What cannot have all that it must have ends here: going on would try every way to fail.
		for (const key of new Set(needed))
			if (!fill(key, this.#document.partOf(schema, key), true))
				return { value: undefined, found: 0, missing: 0 };
		for (const [key, part] of properties)
			if (!values.has(key) && values.size < most && !place.again) fill(key, part, false);
		for (const [key, others] of Object.entries(schema.dependentRequired ?? {}))
			for (const other of values.has(key) ? others : [])
				if (!values.has(other)) fill(other, this.#document.partOf(schema, other), true);
		for (const [key, part] of properties) if (values.size < least && !values.has(key)) fill(key, part, true);
		for (let nth = 1; values.size < least && nth <= least && nth <= MAX_ITEMS; nth++) {
			const key = extraKey(schema, nth);
			// Where one cannot be filled the others cannot, either: trying them would try every way to fail.
			if (!values.has(key) && !fill(key, this.#document.partOf(schema, key), true)) break;
		}
		// In the schema's order, whatever order they were filled in.
		const order = [...new Set([...properties.map(([key]) => key), ...values.keys()])];
		return {
			value: Object.fromEntries(order.filter((key) => values.has(key)).map((key) => [key, values.get(key)])),
			found,
			missing,
		};
	}

	#array(schema: Schema, place: Place): Built {
		const first: JsonSchema[] = Array.isArray(schema.items) ? schema.items : (schema.prefixItems ?? []);
		const rest: JsonSchema = Array.isArray(schema.items)
			? (schema.additionalItems ?? true)
			: (schema.items ?? true);
		const least = Math.min(
			Math.max(schema.minItems ?? 0, schema.contains === undefined ? 0 : (schema.minContains ?? 1)),
			MAX_ITEMS,
		);
		const most = schema.maxItems ?? Number.POSITIVE_INFINITY;
		const items: unknown[] = [];
		const seen = new Set<string>();
		let [found, missing] = [0, 0];
		const add = ({ value, ...counts }: Built): boolean => {
			const text = JSON.stringify(value);
			if (value === undefined || items.length >= most || (schema.uniqueItems && seen.has(text))) return false;
			items.push(value);
			seen.add(text);
			found += counts.found;
			missing += counts.missing;
			return true;
		};
		const item = (part: JsonSchema, nth: number): Built =>
			this.build(part, {
				...place,
				hint: { key: place.hint.key.replace(/(?<=[^s])s$/i, ""), about: place.hint.about },
				required: place.required || items.length < least,
				depth: place.depth + 1,
				nth,
			});
		const again = place.again || this.#comesRound(rest, place);

		for (const part of first.slice(0, Math.min(most, Math.max(least, first.length)))) {
			if (!add(item(part, 0))) break;
		}
		if (rest !== false) {
			if (schema.contains !== undefined) {
				const part = { allOf: [schema.contains, rest] as Schema[] };
				for (let nth = 0; nth < Math.min(schema.minContains ?? 1, MAX_ITEMS); nth++) add(item(part, nth));
			}
			if (!again) for (const value of this.#list(rest, place, most)) add({ value, found: 1, missing: 0 });
			// Objects come one by one, as long as the text still has something for another.
			while (!again && items.length < Math.min(most, MAX_FOUND_ITEMS) && this.#steps < MAX_STEPS) {
				const before = this.#filling.evidence.given;
				const built = this.#isObject(rest) ? item(rest, 0) : undefined;
				const fresh = this.#filling.evidence.given > before;
				// The first may lack something; a further one with a gap is more likely no one at all.
				const enough = built && fresh && built.found > 0 && (items.length === 0 || built.missing === 0);
				if (enough && add(built)) continue;
				this.#filling.evidence.restore(before);
				break;
			}
			const wanted =
				this.#filling.optional === "all" && !again && place.depth < FULL_DEPTH
					? Math.min(Math.max(least, 1), most)
					: least;
			for (let nth = 0; items.length < wanted && nth < wanted + MAX_FOUND_ITEMS; nth++) {
				const built = item(rest, nth);
				if (built.value === undefined) break;
				add(built);
			}
		}
		return { value: items, found, missing };
	}

	#comesRound(part: JsonSchema, { refs }: Place): boolean {
		return this.#document.alternatives(part).every((one) => one.refs.some((ref) => refs.includes(ref)));
	}

	#isObject(part: JsonSchema): boolean {
		return this.#document
			.alternatives(part)
			.every(({ type, schema }) => type === "object" && schema.properties !== undefined);
	}

	/** What the text enumerates for an array of plain values. */
	#list(part: JsonSchema, { hint, required }: Place, most: number): unknown[] {
		const { evidence } = this.#filling;
		const [alternative] = this.#document.alternatives(part);
		if (!alternative || typeof part === "boolean" || COSTLY_PATTERN in alternative.schema) return [];
		const accept = (value: unknown) => this.#document.accepts(value, part);
		const { schema, type } = alternative;
		const wanted = Math.min(most, MAX_FOUND_ITEMS);
		const found = Array.isArray(schema.enum)
			? evidence.mentioned(schema.enum, required).filter(accept)
			: type === "string"
				? evidence.texts(hint, accept, required)
				: type === "number" || type === "integer"
					? evidence.numbers(accept, wanted)
					: [];
		return found.slice(0, wanted);
	}
}
