/** The connection guard of one worker, in a process of its own. It ends with the process that started it. */
import "../scripts/older-node.ts";
import { keepNewSpaceSmall } from "../scripts/collect-garbage.ts";
import { type ConnectionGuard, type GuardOptions, guardConnections } from "../scripts/connections/guard.ts";
import { GUARD_SETTINGS } from "../scripts/internal-names.ts";

export interface GuardSettings
	extends Pick<GuardOptions, "countsSocket" | "guardCount" | "maxSocketBytes" | "peer" | "target"> {
	host: string;
	port: number;
	maxConnections: number;
	idleMs: number;
	/** SHA-256 of the operator's token. */
	operatorHash?: string | undefined;
}

/** What a reload of the configuration changes. */
export type ReloadedSettings = Pick<GuardSettings, "idleMs" | "operatorHash">;

/** SHA-256 of tokens that the gateway has accepted. A guard sends those that are new to it, and receives those of the others. */
export interface AcceptedTokens {
	accepted: string[];
}

// `startGuards` wrote it.
const { idleMs, operatorHash, ...settings } = JSON.parse(process.env[GUARD_SETTINGS] ?? "") as GuardSettings;
let current: ReloadedSettings = { idleMs, operatorHash };
let guard: ConnectionGuard | undefined;
process.on("message", (message: ReloadedSettings | AcceptedTokens) => {
	if ("accepted" in message) guard?.callers.accept(message.accepted);
	else current = message;
});
// Running answers pass through it until the worker has stopped.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
// Also if it was disconnected before: what started it has exited, or all its connections have ended.
process.once("disconnect", () => process.exit());
keepNewSpaceSmall();
guard = await guardConnections({
	...settings,
	idleMs: () => current.idleMs,
	operatorHash: () => current.operatorHash,
	onNewTokens: (accepted) => process.send?.({ accepted } satisfies AcceptedTokens),
});
