/** A port of loopback for a server that starts soon. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ports that operating systems give to outgoing connections (from 32,768 or 49,152): one of these could take the port before the
 * server listens. No usual port of an engine is among them.
 */
const PORTS = { first: 20_000, end: 30_000 };
const TRIES = 100;

export async function freePort(): Promise<number> {
	for (let i = 0; i < TRIES; i++) {
		const port = randomInt(PORTS.first, PORTS.end);
		if (await isFree(port)) return port;
	}
	throw new Error(`no free port from ${PORTS.first} to ${PORTS.end}`);
}

export async function isFree(port: number): Promise<boolean> {
	const server = createServer().listen(port, "127.0.0.1");
	const listens = await once(server, "listening").then(
		() => true,
		() => false,
	);
	if (listens) await new Promise((done) => server.close(done));
	return listens;
}
