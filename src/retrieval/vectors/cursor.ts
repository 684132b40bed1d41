/** The cursor of a list: the snapshot, and the last id that was listed. */
import { cursorInvalid } from "./failures.ts";

/** A list can be continued so long. */
export const SNAPSHOT_MS = 60 * 60_000;
const CURSOR = /^(\d{1,16})\.(.*)$/s;

export interface ListPosition {
	/** The number of the last mutation that the list contains. */
	snapshot: number;
	after: string;
}

export const cursorOf = ({ after, snapshot }: ListPosition): string =>
	btoa(`${snapshot}.${encodeURIComponent(after)}`);

/** Throws 40027. */
export function readCursor(cursor: string): ListPosition {
	try {
		const [, snapshot, after] = CURSOR.exec(atob(cursor)) ?? [];
		if (snapshot !== undefined && after !== undefined)
			return { snapshot: Number(snapshot), after: decodeURIComponent(after) };
	} catch {
		// Not Base64, or no encoded text.
	}
	throw cursorInvalid();
}
