/** The routes of the local engine, against an engine of the test. */
import { describe, expect, it } from "vitest";
import { withTrace } from "../../../src/outbound/passed-headers.ts";
import { upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";

const BGE = "@cf/baai/bge-small-en-v1.5";
const PATH = "/client/v4/local-models";
const VARS = {
	BACKENDS: { local: { kind: "local", url: "http://127.0.0.1:20001", key: "LOCAL_ENGINE_KEY" } },
	ROUTES: { [BGE]: [{ backend: "local", weights: "CompendiumLabs/bge-small-en-v1.5-gguf; quantised" }] },
	LOCAL_ENGINE_KEY: "the-key-of-the-engine",
};
const STATUS = {
	folder: "/models",
	models: [
		{
			...{ name: BGE, size: 36_800_000, state: "downloading" },
			progress: { done: 9_200_000, total: 36_800_000, per_second: 4_600_000, seconds_left: 6 },
		},
	],
};

function gateway(
	reply: (request: Request) => Response | Promise<Response>,
	vars: Record<string, unknown> = VARS,
) {
	const { fetch, requests } = upstream(reply);
	return { requests, ...closedGateway({ vars, fetch }) };
}

describe("the models of this machine", () => {
	it("are shown with the progress of downloads", async () => {
		const { send, requests } = gateway(() => Response.json(STATUS));
		const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
		const response = await withTrace(trace, () => send(`http://gateway${PATH}`, ADMIN));
		expect(await response.json()).toMatchObject({ success: true, result: STATUS });
		expect(
			requests.map(({ url, headers }) => [url, headers.get("authorization"), headers.get("traceparent")]),
		).toEqual([["http://127.0.0.1:20001/status", "Bearer the-key-of-the-engine", null]]);
	});

	it("are downloaded, loaded and removed", async () => {
		const { send, requests } = gateway(() => Response.json({ model: BGE }));
		const body = { action: "pull", model: BGE, accept_licence: true };
		const response = await send(`http://gateway${PATH}`, ADMIN, json("POST", body));
		expect(await response.json()).toMatchObject({ success: true, result: { model: BGE } });
		expect(requests[0]?.url).toBe("http://127.0.0.1:20001/pull");
		expect(await requests[0]?.json()).toEqual({ model: BGE, accept_licence: true });
	});

	it("have the engine's sentence, and refuse other actions", async () => {
		const message = "The disk of /models is full";
		const { send } = gateway(() =>
			Response.json({ error: { message, code: "no_room", type: "local_engine" } }, { status: 507 }),
		);
		const full = await send(`http://gateway${PATH}`, ADMIN, json("POST", { action: "pull", model: BGE }));
		expect(full.status).toBe(502);
		expect(await full.text()).toContain(message);
		const other = await send(`http://gateway${PATH}`, ADMIN, json("POST", { action: "format", model: BGE }));
		expect(other.status).toBe(400);
		expect(await other.text()).toContain("action: expected");
	});

	it("belong to the operator, and need --engine local", async () => {
		const { send, createToken, requests } = gateway(() => Response.json(STATUS));
		const token = await createToken(["Workers AI Read"]);
		expect((await send(`http://gateway${PATH}`, token)).status).toBe(403);
		expect((await send(`http://gateway${PATH}`)).status).toBe(401);
		expect(requests).toEqual([]);
		const without = gateway(() => Response.json(STATUS), { DEFAULT_BACKEND: "simulator" });
		const absent = await without.send(`http://gateway${PATH}`, ADMIN);
		expect(absent.status).toBe(404);
		expect(await absent.text()).toContain("start the gateway with --engine local");
	});
});
