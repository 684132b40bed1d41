/** Every entry point. A mistake in the configuration stops the start: nothing answers half-configured. */
import { env } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { capacityOf } from "./config/capacity.ts";
import { type Config, configure } from "./config.ts";
import { createPersistent, servicesOf } from "./services.ts";
import { busy, closing, drain } from "./surfaces/drain.ts";
import { entrypoint } from "./surfaces/entrypoint.ts";
import { HEALTH_PATH } from "./surfaces/health.ts";
import { reload } from "./surfaces/reload.ts";

const config = configure(env);
const persistent = createPersistent(env, config);
const { background } = persistent;
/** Replaced as a whole by a reload. A request keeps what it began with. */
let current = gateway(config);

function gateway(config: Config) {
	const services = servicesOf(config, persistent);
	return { services, allowAnonymous: config.allowAnonymous, app: createApp(services, config) };
}

const isHealth = (request: Request): boolean => new URL(request.url).pathname === HEALTH_PATH;

const { requests } = capacityOf(config.openFiles);

export default {
	fetch(request: Request) {
		const isFull = background.size >= requests;
		if ((background.isClosed || isFull) && !isHealth(request))
			return background.isClosed ? closing() : busy();
		return current.app.fetch(request);
	},
} satisfies ExportedHandler;

export class AI extends entrypoint(() => current) {}
export class Drain extends drain(background) {}
export class Reload extends reload((variables) => {
	current = gateway(configure(variables));
}) {}

export { Account } from "./objects/account.ts";
export { Directory } from "./objects/directory.ts";
export { Fleet } from "./objects/fleet.ts";
