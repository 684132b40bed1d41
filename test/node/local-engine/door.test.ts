/** The address of the local engine, if the server behind it does not answer. */
import { Agent } from "node:http";
import { afterEach, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { type Door, openDoor } from "../../../scripts/local-engine/door.ts";

let door: Door | undefined;
afterEach(() => door?.close());

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
