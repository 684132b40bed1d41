/** Every door. A mistake in the configuration stops the start: nothing answers half-configured. */
import { env } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { configure } from "./config.ts";
import { createServices } from "./services.ts";
import { closing, drain } from "./surfaces/drain.ts";
import { entrypoint } from "./surfaces/entrypoint.ts";

const config = configure(env);
const services = createServices(config, env);
const app = createApp(services, config);

export default {
	fetch: (request: Request) => (services.background.isClosed ? closing() : app.fetch(request)),
} satisfies ExportedHandler;

export class AI extends entrypoint(services, config.allowAnonymous) {}
export class Drain extends drain(services.background) {}

export { Account } from "./objects/account.ts";
export { Directory } from "./objects/directory.ts";
export { Fleet } from "./objects/fleet.ts";
