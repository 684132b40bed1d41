import type { TestProject } from "vitest/node";
import { startGateway } from "./gateway.ts";
import { CLIENT_ROUTES } from "./routes.ts";

declare module "vitest" {
	interface ProvidedContext {
		/** `…/client/v4` of a gateway on the simulator. */
		baseURL: string;
	}
}

/** One gateway for all clients that want nothing special of theirs. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	const { baseURL, stop } = await startGateway({ ROUTES: JSON.stringify(CLIENT_ROUTES) });
	project.provide("baseURL", baseURL);
	return stop;
}
