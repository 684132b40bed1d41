/** The exports of this surface in a build that leaves `vectors` out: `scripts/rooms.ts` replaces their modules by this one. */
import { roomError } from "../../core/left-out.ts";
import { leftOutEntrypoint, noRoutes } from "../rpc/left-out.ts";

export { noRoutes as vectorizeRoutes, noRoutes as vectorUsageRoutes };

const METHODS = ["describe", "query", "queryById", "insert", "upsert", "getByIds", "deleteByIds"];

export const vectorizeEntrypoint = () =>
	class extends leftOutEntrypoint("vectors", METHODS)() {
		/** The format of the runtime's class. */
		override fetch(): Response {
			const { code, description, status } = roomError("vectors");
			return Response.json({ code, error: description }, { status });
		}
	};
