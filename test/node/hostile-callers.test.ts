/** The normal callers of the hostile soak, with servers of the test. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { callNormally } from "../../tools/soak/hostile/callers.ts";

const servers: Server[] = [];
afterEach(() => {
	for (const server of servers.splice(0)) {
		server.closeAllConnections();
		server.close();
	}
});

async function serving(listener: RequestListener): Promise<string> {
	const server = createServer(listener);
	servers.push(server);
	await once(server.listen(0, "127.0.0.1"), "listening");
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("measure the gateway and the floor apart, and how late their own clock is", async () => {
	const tokens = new Set<string | undefined>();
	const url = await serving(async (request, response) => {
		if (request.url !== "/health") tokens.add(request.headers.authorization);
		await wait(request.url === "/health" ? 0 : 60);
		response.end("{}");
	});
	const floorTokens = new Set<string | undefined>();
	const floor = await serving((request, response) => {
		floorTokens.add(request.headers.authorization);
		response.end("{}");
	});
	const stop = new AbortController();
	const results = callNormally({ url, floor, token: "secret" }, stop.signal);
	await wait(1_500);
	for (let blocked = 0; blocked < 8; blocked++) {
		const until = performance.now() + 60;
		while (performance.now() < until);
		await wait(20);
	}
	stop.abort();
	const { answered, failed, floorP99, loopP99, p50, probes, failedProbes } = await results;
	expect(answered).toBeGreaterThan(50);
	expect(failed).toEqual({});
	expect(p50).toBeGreaterThanOrEqual(59);
	expect(floorP99).toBeGreaterThan(0);
	expect(loopP99).toBeGreaterThan(40);
	expect(probes - failedProbes).toBeGreaterThanOrEqual(2);
	expect([...tokens]).toEqual(["Bearer secret"]);
	expect([...floorTokens]).toEqual([undefined]);
});
