/** A gateway as a user starts it: the project's own Worker under wrangler, on a free port, on the simulator. */
import { unstable_startWorker } from "wrangler";

export interface StartedGateway {
	/** `…/client/v4` */
	baseURL: string;
	stop(): Promise<void>;
}

export async function startGateway(vars: Record<string, string> = {}): Promise<StartedGateway> {
	process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
	const all = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator", ...vars };
	const worker = await unstable_startWorker({
		config: "wrangler.jsonc",
		bindings: Object.fromEntries(
			Object.entries(all).map(([name, value]) => [name, { type: "plain_text", value }] as const),
		),
		dev: {
			server: { hostname: "127.0.0.1", port: 0 },
			inspector: false,
			logLevel: "error",
			watch: false,
			persist: false,
		},
	});
	await worker.ready;
	return { baseURL: new URL("/client/v4", await worker.url).href, stop: () => worker.dispose() };
}

export const ACCOUNT = "local";
