/** Configuration and the world, as the pipeline takes them. */
import type { Config } from "./config.ts";
import { logFailure } from "./log.ts";
import type { Services } from "./request.ts";

export const createServices = ({ catalog, routing, limits }: Config): Services => ({
	catalog,
	routing,
	limits,
	// Called through a closure: workerd's fetch insists on its own `this`.
	fetch: (input, init) => fetch(input, init),
	now: () => Date.now(),
	uuid: () => crypto.randomUUID(),
	random: () => Math.random(),
	log: logFailure,
});
