/** The cursor of a list: the snapshot, its end, and the last id that was listed. */
import { cursorInvalid } from "./failures.ts";

/** A list can be continued so long. */
export const SNAPSHOT_MS = 60 * 60_000;
const CURSOR = /^(\d{1,16})\.(\d{1,16})\.(.*)$/s;

export interface ListPosition {
	/** The number of the last mutation that the list contains. */
	snapshot: number;
	/** When the list cannot be continued any more. */
	expiresAt: number;
	after: string;
}

export const cursorOf = ({ after, expiresAt, snapshot }: ListPosition): string =>
	btoa(`${snapshot}.${expiresAt}.${encodeURIComponent(after)}`);

/** Throws 40027, also for a list that has expired. */
export function readCursor(cursor: string, now: number): ListPosition {
	const position = positionIn(cursor);
	if (!position || position.expiresAt <= now) throw cursorInvalid();
	return position;
}

function positionIn(cursor: string): ListPosition | undefined {
	try {
		const [, snapshot, expiresAt, after] = CURSOR.exec(atob(cursor)) ?? [];
		if (snapshot !== undefined && after !== undefined)
			return { snapshot: Number(snapshot), expiresAt: Number(expiresAt), after: decodeURIComponent(after) };
	} catch {
		// Not Base64, or no encoded text.
	}
	return undefined;
}
