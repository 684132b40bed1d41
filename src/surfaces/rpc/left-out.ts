/** RPC classes of a build that leaves a room out: each method and property is refused. */
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";
import { type RoomPart, roomError } from "../../core/left-out.ts";
import { failureEnvelope } from "../../http/envelope.ts";
import { toRpcError } from "../../http/failure-formats.ts";
import type { AppRoute } from "../route.ts";

export const noRoutes: readonly AppRoute[] = [];

/** The members of the prototype are those of an object over RPC. */
function refuse(prototype: object, part: RoomPart, members: readonly string[]): void {
	const get = (): never => {
		throw toRpcError(roomError(part));
	};
	for (const name of members) Object.defineProperty(prototype, name, { get });
}

export function leftOutTarget(part: RoomPart, members: readonly string[]) {
	const Target = class extends RpcTarget {};
	refuse(Target.prototype, part, members);
	return Target;
}

export const leftOutEntrypoint = (part: RoomPart, members: readonly string[]) => () => {
	const Entrypoint = class extends WorkerEntrypoint {
		override fetch(): Response {
			return failureEnvelope(roomError(part), "");
		}
	};
	refuse(Entrypoint.prototype, part, members);
	return Entrypoint;
};
