/**
 * Ids of tool calls. Anthropic's ids begin with `toolu_`. The id of another engine is encoded inside such an id, as
 * base64url, and decoded for the engine: some models depend on the form of their ids (Kimi: `functions.look:0`).
 */
import { Buffer } from "node:buffer";

const PREFIX = "toolu_";
const CARRIER = /^toolu_gw_([\w-]+)$/;

/** The id for the caller. */
export const callerToolId = (id: string): string =>
	id.startsWith(PREFIX) ? id : `${PREFIX}gw_${Buffer.from(id).toString("base64url")}`;

/** The engine's own id. */
export function engineToolId(id: string): string {
	const carried = CARRIER.exec(id)?.[1];
	if (carried === undefined) return id;
	const engineId = Buffer.from(carried, "base64url").toString();
	return callerToolId(engineId) === id ? engineId : id;
}

/** For a call without an id. */
export const newToolId = (uuid: () => string): string => `${PREFIX}${uuid().replaceAll("-", "")}`;
