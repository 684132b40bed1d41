/** The gateway of a command that needs none: one that runs, or one for the duration of the command. */
import type { Defaults } from "./config-location.ts";
import { type ConnectionFlags, DEFAULT_URL, GatewayClient } from "./gateway-client.ts";
import type { TemporaryFlags } from "./temporary-gateway.ts";

const PROBE_MS = 500;

export type ReachFlags = ConnectionFlags & TemporaryFlags;

/** Without `--url` and `GANGLION_URL`, and if no gateway answers on the default address, a gateway runs until `use` ends. */
export async function withGateway<Result>(
	{ flags, defaults }: { flags: ReachFlags; defaults: Defaults },
	use: (client: GatewayClient) => Promise<Result>,
): Promise<Result> {
	const temporary = (await needsGateway(flags)) ? await start(flags, defaults) : undefined;
	try {
		return await use(new GatewayClient(temporary ? { ...flags, url: temporary.url } : flags));
	} finally {
		await temporary?.stop();
	}
}

async function needsGateway({ url }: ConnectionFlags): Promise<boolean> {
	if (url !== undefined || process.env.GANGLION_URL) return false;
	const signal = AbortSignal.timeout(PROBE_MS);
	return fetch(`${DEFAULT_URL}/health`, { signal }).then(
		({ ok }) => !ok,
		() => true,
	);
}

async function start(flags: ReachFlags, defaults: Defaults) {
	const { startTemporary } = await import("./temporary-gateway.ts");
	const gateway = await startTemporary(flags, defaults);
	console.error(`No gateway answers on ${DEFAULT_URL}: started one for this answer.`);
	return gateway;
}
