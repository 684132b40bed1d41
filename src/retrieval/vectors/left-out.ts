/** The exports of this room in a build that leaves `vectors` out: `scripts/rooms.ts` replaces their modules by this one. */
import { roomError } from "../../core/left-out.ts";
import { LeftOutObject, leftOutWork } from "../../storage/left-out-objects.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";

export { LeftOutObject as VectorIndexObject, LeftOutObject as VectorRegistryObject };

export const vectorObjects = (): object => ({});

export class VectorIndexes {
	/** None. */
	async days(): Promise<{ rows: []; truncated: false }> {
		return { rows: [], truncated: false };
	}

	usage(): Promise<never> {
		return Promise.reject(roomError("vectors"));
	}
}

export class QueryCounts {
	async flushAll(): Promise<void> {}
}

export const moveHandler = (): WorkHandler => leftOutWork;
