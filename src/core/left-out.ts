/**
 * The parts of the Worker that this build leaves out. `scripts/worker.ts` replaces this list: `--without` names the parts.
 * Here: none.
 */
import { AiError, FAILURES } from "./errors.ts";

export const LEFT_OUT: readonly string[] = [];

export const isLeftOut = (part: string): boolean => LEFT_OUT.includes(part);

/** Rooms that a build can leave out, by the names of their parts. */
export const ROOM_NAMES = { vectors: "Vectorize", search: "AI Search" } as const;
export type RoomPart = keyof typeof ROOM_NAMES;

/** What a request of a room that is left out gets. */
export const roomMissing = (part: RoomPart): string =>
	`${FAILURES.noRoute.description}: this deployment has no ${ROOM_NAMES[part]}, because its build leaves "${part}" out`;

export const roomError = (part: RoomPart): AiError => new AiError("noRoute", roomMissing(part));
