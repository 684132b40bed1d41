/** Checks that an address is free before anything starts. wrangler and workerd report this late, with long messages. */
import { createServer } from "node:net";
import { stopWith } from "./stop-with.ts";

export async function checkAddress(host: string, port: number): Promise<void> {
	const server = createServer();
	const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
		server.once("error", resolve);
		server.listen(port, host, () => server.close(() => resolve(undefined)));
	});
	if (failure?.code === "EADDRINUSE") stopWith(`port ${port} of ${host} is in use: give another --port`);
	if (failure) stopWith(`cannot listen on port ${port} of ${host}: ${failure.message}`);
}
