/** The input of a request: what it refers to, what an engine receives, and what is stored. */
import { isRecord } from "../core/json.ts";
import { MAX_CONTEXT_BYTES } from "./context-bytes.ts";
import { referenceFailure } from "./failures.ts";
import { itemPrefix, newId } from "./ids.ts";
import type { ItemRecord, ReferencedItems } from "./records.ts";

type Item = Record<string, unknown>;

const isReference = (item: unknown): item is { id: string } =>
	isRecord(item) && item.type === "item_reference" && typeof item.id === "string";

/** The ids of the items that the input refers to, each once. */
export const referencesIn = (input: unknown): string[] => idsIn(input, isReference);

/** Reasoning whose seal the caller does not have, because its request did not include it. */
const isUnsealed = (item: unknown): item is { id: string } =>
	isRecord(item) &&
	item.type === "reasoning" &&
	typeof item.id === "string" &&
	item.encrypted_content == null;

/** The ids of the reasoning whose seal may be stored, each once. */
export const unsealedIn = (input: unknown): string[] => idsIn(input, isUnsealed);

const idsIn = (input: unknown, isMeant: (item: unknown) => item is { id: string }): string[] =>
	Array.isArray(input) ? [...new Set(input.filter(isMeant).map(({ id }) => id))] : [];

/** Items for which the store may have others with their ids. */
const isStandIn = (item: unknown): item is { id: string } => isReference(item) || isUnsealed(item);

/**
 * The records for the store. Items that it has are references, also reasoning whose seal the caller does not have. `context`: what the request
 * refers to, if it refers to anything.
 */
export const withReferences = (
	input: readonly ItemRecord[],
	context: Pick<ReferencedItems, "items"> | undefined,
): ItemRecord[] =>
	input.map((record) => {
		const stored = context?.items.get(record.id);
		// Another item of the request may have the id of one that it refers to.
		return stored && isStandIn(JSON.parse(record.json))
			? { ...record, referencedOwner: stored.owner }
			: record;
	});

/**
 * The input for the engine: the items before it, and its own with the referenced ones. Throws if these have more than
 * `MAX_CONTEXT_BYTES`: a small request may name a large item many times.
 */
export function engineInput(input: unknown, { before, items }: ReferencedItems): unknown {
	const earlier = before.map((json): unknown => JSON.parse(json));
	if (!Array.isArray(input) && earlier.length === 0) return input;
	let bytes = before.reduce((sum, json) => sum + Buffer.byteLength(json), 0);
	const own = itemsIn(input).map((item) => {
		if (!isStandIn(item)) return item;
		const { id } = item;
		const referenced = items.get(id);
		if (!referenced) return item;
		bytes += Buffer.byteLength(referenced.json);
		if (bytes > MAX_CONTEXT_BYTES) throw referenceFailure({ kind: "item", id, tooLarge: true });
		return JSON.parse(referenced.json) as unknown;
	});
	return [...earlier, ...own];
}

export const itemsIn = (input: unknown): unknown[] => {
	if (Array.isArray(input)) return input;
	return input === undefined || input === null ? [] : [{ type: "message", role: "user", content: input }];
};

/** The input's own items in the form of OpenAI's lists, with an id each. */
export const storedInput = (input: unknown, uuid: () => string): ItemRecord[] =>
	itemsIn(input).flatMap((item) => (isRecord(item) ? [storedItem(item, uuid)] : []));

export function storedItem(item: Item, uuid: () => string): ItemRecord {
	if (isReference(item)) return { id: item.id, json: JSON.stringify(item) };
	const type = typeof item.type === "string" ? item.type : "message";
	const id = typeof item.id === "string" && item.id !== "" ? item.id : newId(itemPrefix(type), uuid);
	const whole = type === "message" ? messageItem(item) : item;
	const json = JSON.stringify({ ...whole, id, type, ...(hasStatus(type, item) && { status: "completed" }) });
	return { id, json };
}

/** Callers omit the status of their items. */
const hasStatus = (type: string, { status }: Item): boolean =>
	typeof status !== "string" && /^message$|_call(?:_output)?$/.test(type);

/** Callers may send a text instead of parts. */
function messageItem(item: Item): Item {
	const { content, role } = item;
	if (typeof content !== "string") return item;
	const part =
		role === "assistant"
			? { type: "output_text", text: content, annotations: [] }
			: { type: "input_text", text: content };
	return { ...item, content: [part] };
}
