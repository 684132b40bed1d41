/** The address of the local engine, if the server behind it does not answer. */
import { Agent, createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { type Door, openDoor } from "../../../scripts/local-engine/door.ts";

let door: Door | undefined;
const cleanups: (() => void)[] = [];
afterEach(() => {
	door?.close();
	for (const clean of cleanups.splice(0)) clean();
});

async function serverOf(listener: RequestListener): Promise<URL> {
	const server = createServer(listener).listen(0, "127.0.0.1");
	cleanups.push(() => void server.close().closeAllConnections());
	await new Promise((resolve) => server.once("listening", resolve));
	return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const embed = (signal?: AbortSignal): Promise<Response> =>
	fetch(`${door?.url}/model:any/v1/embeddings`, {
		method: "POST",
		headers: { authorization: "Bearer the-key" },
		body: "{}",
		...(signal && { signal }),
	});

/** `addresses`: of the server, for each time that they are asked for; the last ones stay. */
async function doorTo(
	addresses: readonly (URL | URL[] | Promise<URL>)[],
	agent = new Agent(),
): Promise<{ prepared: number }> {
	const calls = { prepared: 0 };
	door = await openDoor(
		{
			async prepare() {
				const urls = await (addresses[calls.prepared++] ?? addresses.at(-1) ?? []);
				return [urls].flat().map((url) => ({ server: "llama-server", url, agent }));
			},
			loadFailure: async () => undefined,
			status: async () => ({}),
			command: async () => ({}),
		},
		"the-key",
	);
	return calls;
}

it.each(["llama-server", "The engine of ONNX models"])("says that %s has ended", async (server) => {
	const agent = new Agent();
	const url = new URL(`http://127.0.0.1:${await freePort()}`);
	door = await openDoor(
		{
			prepare: async () => [{ server, url, agent }],
			loadFailure: async () => undefined,
			status: async () => ({}),
			command: async () => ({}),
		},
		"the-key",
	);
	const response = await fetch(`${door.url}/model:any/v1/embeddings`, {
		method: "POST",
		headers: { authorization: "Bearer the-key" },
		body: "{}",
	});
	expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
	expect(await response.json()).toMatchObject({
		error: { message: `${server} has ended, and starts again` },
	});
});

it("holds a request from the end of the server, before it is noticed, until the server answers again", async () => {
	const gone = new URL(`http://127.0.0.1:${await freePort()}`);
	const again = await serverOf((_, answer) => answer.end('{"data":[]}'));
	const restarted = wait(200).then(() => again);
	const calls = await doorTo([gone, gone, gone, restarted]);
	const response = await embed();
	expect([response.status, await response.json(), calls.prepared]).toEqual([200, { data: [] }, 4]);
});

it("repeats a request that has ended its server once", async () => {
	let requests = 0;
	const ending = await serverOf(({ socket }) => {
		requests++;
		socket.destroy();
	});
	await doorTo([ending]);
	const response = await embed();
	expect([response.status, requests]).toEqual([503, 2]);
});

it("counts a broken connection before a refused one as the one repetition", async () => {
	let requests = 0;
	// Each request ends its server, and the port of the second address has none.
	const ending = await serverOf(({ socket }) => {
		requests++;
		socket.destroy();
	});
	const gone = new URL(`http://127.0.0.1:${await freePort()}`);
	await doorTo([[ending, gone]]);
	expect([(await embed()).status, requests]).toEqual([503, 2]);
});

it("repeats a request once, also at another address of its server", async () => {
	let requests = 0;
	const ending = await serverOf(({ socket }) => {
		requests++;
		socket.destroy();
	});
	await doorTo([[ending, ending]]);
	expect([(await embed()).status, requests]).toEqual([503, 2]);
});

it("counts the time in which connections are refused, not the calls", async () => {
	const slow = new Agent();
	const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
	slow.createConnection = (_, callback) => {
		void wait(700).then(() => callback?.(refused, undefined as never));
		return undefined;
	};
	const calls = await doorTo([new URL("http://127.0.0.1:1")], slow);
	expect([(await embed()).status, calls.prepared]).toEqual([503, 4]);
});

it("ends the wait for the server with the caller", async () => {
	const gone = new URL(`http://127.0.0.1:${await freePort()}`);
	const calls = await doorTo([gone]);
	await expect(embed(AbortSignal.timeout(100))).rejects.toThrow("timeout");
	await wait(100);
	const { prepared } = calls;
	await wait(200);
	expect(calls.prepared).toBe(prepared);
});
