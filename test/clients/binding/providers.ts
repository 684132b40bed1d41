import { PORT_VARIABLE } from "../providers/routes.ts";
import { startProviders } from "../providers/server.ts";

/** For the Worker's second gateway: the tests themselves run where nothing can listen. */
export default async function setup(): Promise<() => void> {
	const { stop } = await startProviders(Number(process.env[PORT_VARIABLE]));
	return stop;
}
