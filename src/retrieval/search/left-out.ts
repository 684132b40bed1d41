/** The exports of this room in a build that leaves `search` out: `scripts/rooms.ts` replaces their modules by this one. */
import { roomError } from "../../core/left-out.ts";
import { LeftOutObject } from "../../storage/left-out-objects.ts";

export { LeftOutObject as SearchInstanceObject, LeftOutObject as SearchRegistryObject };

export const searchObjects = (): object => ({});

export class SearchInstances {
	ofVectorIndex(): Promise<undefined> {
		return Promise.resolve(undefined);
	}
	usage(): Promise<never> {
		return Promise.reject(roomError("search"));
	}
}
