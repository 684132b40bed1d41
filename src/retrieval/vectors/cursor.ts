/** The cursor of a list: the snapshot, its end, the index, and the last id that was listed. The caller may send another text. */
import { cursorInvalid } from "./failures.ts";

/** A list can be continued so long. */
export const SNAPSHOT_MS = 60 * 60_000;
/** The process that wrote the cursor may have another clock. */
const MAX_LEFT_MS = 2 * SNAPSHOT_MS;
const CURSOR = /^(\d{1,16})\/(\d{1,16})\/([^/]*)\/([^/]*)$/;

export interface ListPosition {
	/** The number of the last mutation that the list contains. */
	snapshot: number;
	/** When the list cannot be continued any more. */
	expiresAt: number;
	/** The name of the index's first object. An index that is created again has another one. */
	object: string;
	after: string;
}

export const cursorOf = ({ after, expiresAt, object, snapshot }: ListPosition): string =>
	btoa([snapshot, expiresAt, ...[object, after].map(encodeURIComponent)].join("/"));

/** Throws 40027, also for a list of another index, and for one that has expired. */
export function readCursor(
	cursor: string,
	{ object, now }: Pick<ListPosition, "object"> & { now: number },
): ListPosition {
	const position = positionIn(cursor);
	const isOpen = position && position.expiresAt > now && position.expiresAt <= now + MAX_LEFT_MS;
	if (!isOpen || position.object !== object) throw cursorInvalid();
	return position;
}

function positionIn(cursor: string): ListPosition | undefined {
	try {
		const [, snapshot, expiresAt, ...texts] = CURSOR.exec(atob(cursor)) ?? [];
		const [object, after] = texts.map(decodeURIComponent);
		if (object !== undefined && after !== undefined)
			return { snapshot: Number(snapshot), expiresAt: Number(expiresAt), object, after };
	} catch {
		// Not Base64, or no encoded text.
	}
	return undefined;
}
