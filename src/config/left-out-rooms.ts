/** The schemas of `VECTORS` and `AI_SEARCH` in a build that leaves their room out: `scripts/rooms.ts` replaces their modules by this one. */
import * as z from "zod";
import { ROOM_NAMES, type RoomPart } from "../core/left-out.ts";

const refused = (part: RoomPart) => () =>
	z.record(z.string(), z.unknown()).refine((sent) => Object.keys(sent).length === 0, {
		error: `this build has no ${ROOM_NAMES[part]}: remove "${part}" from --without in "build.command", and deploy again (docs/configuration.md)`,
	});

export const vectorsSchema = refused("vectors");
export const searchSchema = refused("search");
