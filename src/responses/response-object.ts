/** Changes a response object of the dialect to a stored one. */
import { isRecord } from "../core/json.ts";
import { itemPrefix, newId } from "./ids.ts";
import type { ItemRecord, ResponseRecord, ResponseStatus } from "./records.ts";

export type ResponseJson = Record<string, unknown>;

/** The fields of a stored response that an engine does not know. */
export interface ResponseIdentity {
	id: string;
	owner: string;
	/** Epoch milliseconds. */
	createdAt: number;
	background: boolean;
	previous?: string | undefined;
	conversation?: string | undefined;
	/** The caller gets the encrypted reasoning. It is stored in any case. */
	includesSeals: boolean;
}

const TERMINAL: ReadonlySet<unknown> = new Set<ResponseStatus>([
	"completed",
	"incomplete",
	"failed",
	"cancelled",
]);

/** `now`: epoch milliseconds. */
export function identified(response: ResponseJson, identity: ResponseIdentity, now: number): ResponseJson {
	const { id, createdAt, background, previous, conversation } = identity;
	return {
		...response,
		id,
		created_at: Math.floor(createdAt / 1000),
		...(TERMINAL.has(response.status) && {
			completed_at: response.status === "completed" ? Math.floor(now / 1000) : null,
		}),
		background,
		previous_response_id: previous ?? null,
		...(conversation !== undefined && { conversation: { id: conversation } }),
		store: true,
	};
}

/** The record of a response that has ended. */
export function recordOf(
	response: ResponseJson,
	{ id, owner, createdAt, previous, conversation }: ResponseIdentity,
	{ input, uuid }: { input: readonly ItemRecord[]; uuid(): string },
): ResponseRecord {
	const { output, status, ...fields } = response;
	const items = Array.isArray(output) ? output.filter(isRecord) : [];
	return {
		...{ id, owner, previous, conversation, createdAt, input },
		status: TERMINAL.has(status) ? (status as ResponseStatus) : "failed",
		json: JSON.stringify({ ...fields, status }),
		output: items.map((item) => outputRecord(item, uuid)),
	};
}

function outputRecord(item: Record<string, unknown>, uuid: () => string): ItemRecord {
	if (typeof item.id === "string" && item.id !== "") return { id: item.id, json: JSON.stringify(item) };
	const id = newId(itemPrefix(String(item.type)), uuid);
	return { id, json: JSON.stringify({ ...item, id }) };
}

/** The item for a caller. */
export function shownItem(item: unknown, includesSeals: boolean): unknown {
	if (includesSeals || !isRecord(item) || item.type !== "reasoning") return item;
	const { encrypted_content: _, ...shown } = item;
	return shown;
}

/** The response for a caller. */
export function shown(response: ResponseJson, includesSeals: boolean): ResponseJson {
	const { output } = response;
	if (includesSeals || !Array.isArray(output)) return response;
	return { ...response, output: output.map((item) => shownItem(item, false)) };
}

/** `include` of a request or a query. */
export const includesSeals = (include: unknown): boolean =>
	Array.isArray(include) && include.includes("reasoning.encrypted_content");
