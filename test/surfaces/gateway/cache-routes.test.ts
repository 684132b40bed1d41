import { describe, expect, it } from "vitest";
import { ADMIN, closedGateway, json } from "../../http/access.ts";

const PURGE = "/ai-gateway/gateways/default/cache/purge";
const CHAT = "/v1/{account}/default/workers-ai/@cf/meta/llama-3.1-8b-instruct-fp8";

/** `ask`: a request that may be cached. Returns `cf-aig-cache-status`. */
function cachingGateway() {
	const background: Promise<unknown>[] = [];
	const { account, app, send, services } = closedGateway();
	services.waitUntil = (work) => void background.push(work.catch(() => {}));
	const ask = async () => {
		const response = await app.request(`http://gateway${CHAT.replace("{account}", account)}`, {
			...json("POST", { prompt: "Hi" }),
			headers: {
				"content-type": "application/json",
				authorization: `Bearer ${ADMIN}`,
				"cf-aig-cache-ttl": "60",
			},
		});
		await response.text();
		await Promise.all(background);
		return response.headers.get("cf-aig-cache-status");
	};
	return { ask, send };
}

it("the cached answers of a gateway are deleted with it", async () => {
	const { ask, send } = cachingGateway();
	expect([await ask(), await ask()]).toEqual(["MISS", "HIT"]);
	expect((await send("/ai-gateway/gateways/default", ADMIN, { method: "DELETE" })).status).toBe(200);
	expect(await ask()).toBe("MISS");
});

describe("POST …/cache/purge", () => {
	it("deletes the answers of the account's gateway", async () => {
		const { ask, send } = cachingGateway();
		expect([await ask(), await ask()]).toEqual(["MISS", "HIT"]);
		const purged = await send(PURGE, ADMIN, { method: "POST" });
		expect(await purged.json()).toMatchObject({ success: true, result: { purged: 1 } });
		expect(await ask()).toBe("MISS");
	});

	it("needs the permission to write", async () => {
		const { createToken, send } = closedGateway();
		const reader = await createToken(["Workers AI Read"]);
		expect((await send(PURGE, reader, { method: "POST" })).status).toBe(403);
	});
});
