/** The gateway of a command that needs none: one that runs, or one for the duration of the command. */
import { list } from "../src/schemas/explain.ts";
import type { Defaults } from "./config-location.ts";
import { CommandError, type ConnectionFlags, DEFAULT_URL, GatewayClient } from "./gateway-client.ts";
import type { TemporaryFlags } from "./temporary-gateway.ts";

const PROBE_MS = 500;

export type ReachFlags = ConnectionFlags & TemporaryFlags;

/**
 * A gateway runs until `use` ends if an option has a setting for it, or if there is neither `--url` nor `GANGLION_URL`, and no gateway
 * answers on the default address.
 */
export async function withGateway<Result>(
	{ flags, defaults }: { flags: ReachFlags; defaults: Defaults },
	use: (client: GatewayClient) => Promise<Result>,
): Promise<Result> {
	const reason = await reasonToStart(flags);
	if (reason === undefined) return use(new GatewayClient(flags));
	const { startTemporary } = await import("./temporary-gateway.ts");
	const { url, stop } = await startTemporary(flags, defaults);
	console.error(reason);
	try {
		// The token is one of another gateway.
		return await use(new GatewayClient({ ...flags, url }, { ...process.env, GANGLION_TOKEN: undefined }));
	} finally {
		await stop();
	}
}

/** The sentence for the user. `undefined`: a gateway runs. */
async function reasonToStart(flags: ReachFlags): Promise<string | undefined> {
	const settings = settingsIn(flags);
	if (settings !== "") {
		if (flags.url === undefined) return `Started a gateway for this answer, because of ${settings}.`;
		throw new CommandError(`the gateway of --url has its own settings: leave out ${settings}`);
	}
	if (flags.url !== undefined || process.env.GANGLION_URL || (await answersByDefault())) return undefined;
	return `No gateway answers on ${DEFAULT_URL}: started one for this answer.`;
}

/** The options that are settings, which a gateway reads when it starts. */
function settingsIn({ backend, config, enginePorts, env, localEngines, route }: ReachFlags): string {
	const set = Object.entries({
		"--backend": backend,
		"--route": route,
		"--config": config,
		"--env": env,
		"--local-engines": localEngines || undefined,
		"--no-local-engines": localEngines === false || undefined,
		"--engine-ports": enginePorts,
	});
	return list(
		set.filter(([, value]) => value !== undefined).map(([name]) => name),
		"and",
	);
}

const answersByDefault = (): Promise<boolean> =>
	fetch(`${DEFAULT_URL}/health`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
		({ ok }) => ok,
		() => false,
	);
