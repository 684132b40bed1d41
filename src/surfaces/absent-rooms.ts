/** Refusals of the paths of rooms that this build leaves out. */
import { isLeftOut, type RoomPart, roomMissing } from "../core/left-out.ts";
import { type Base, defineUnknown, type UnknownPaths } from "../http/route.ts";
import { ACCOUNT, AI, below } from "./bases.ts";
import { gatewayPlaneFailure } from "./gateway/gateway-failure.ts";

const ROOT: Base = { path: "" };

const absent = (part: RoomPart, paths: readonly Base[], format = {}): UnknownPaths[] =>
	isLeftOut(part)
		? defineUnknown({ bases: paths, tag: "", ...format }, [{ path: "/*", explain: () => roomMissing(part) }])
		: [];

export const absentRooms: readonly UnknownPaths[] = [
	...absent("vectors", [below(ACCOUNT, "/vectorize"), below(AI, "/usage/vectors")]),
	...absent("search", [below(ACCOUNT, "/ai-search"), below(ACCOUNT, "/autorag"), below(ROOT, "/search")]),
];

/** Of the binding. */
export const absentWireRooms: readonly UnknownPaths[] = absent("search", [below(ROOT, "/autorag")], {
	failure: gatewayPlaneFailure,
});
