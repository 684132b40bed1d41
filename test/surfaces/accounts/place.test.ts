import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { configure } from "../../../src/config/index.ts";
import { createPersistent } from "../../../src/persistent-services.ts";
import { newAccount } from "../../accounts/fixtures.ts";
import { replaceServices, testServices } from "../../gateway.ts";
import { ADMIN, closedGateway, failureOf, json, tokenBody, V4 } from "../../http/access.ts";

/** A gateway with these shards, and real objects. */
function gatewayWith(shards: number, account: string) {
	const { ledgers } = createPersistent(env, configure({ SHARDS: shards }));
	const app = createApp(replaceServices(testServices(), { ledgers }), {
		allowAnonymous: false,
		adminToken: ADMIN,
	});
	return (path: string, init: RequestInit = {}, token = ADMIN) => {
		const headers = { ...init.headers, authorization: `Bearer ${token}` };
		return app.request(`${V4}/accounts/${account}${path}`, { ...init, headers });
	};
}

describe("the place of an account", () => {
	it("is a shard or an object of its own, and its tokens work after each move", async () => {
		const account = newAccount();
		const send = gatewayWith(3, account);
		const created = await send("/tokens", json("POST", tokenBody(account, ["Workers AI Read"])));
		const { result: token } = await created.json<{ result: { value: string } }>();
		const place = async (init?: RequestInit) =>
			(await (await send("/ai/place", init)).json<{ result: unknown }>()).result;
		const shard = await place();
		expect(shard).toEqual({ place: expect.stringMatching(/^shard\/[012]$/), moved: false });
		expect(await place(json("PUT", { object: "own" }))).toEqual({ place: account, moved: true });
		expect(await place(json("PUT", { object: "own" }))).toEqual({ place: account, moved: false });
		// Another isolate knows the new place from the directory.
		const other = gatewayWith(3, account);
		expect((await other("/ai/usage", {}, token.value)).status).toBe(200);
		expect(await place(json("PUT", { object: "shard" }))).toEqual({ ...(shard as object), moved: true });
		expect((await send("/ai/usage", {}, token.value)).status).toBe(200);
		expect((await other("/ai/usage", {}, token.value)).status).toBe(200);
	});

	it("is for the operator", async () => {
		const { createToken, send } = closedGateway();
		const token = await createToken(["Workers AI Write"]);
		for (const init of [{}, json("PUT", { object: "own" })])
			expect(await failureOf(await send("/ai/place", token, init))).toBe(
				"403 10000: Authentication error: only the operator's token may call this route",
			);
		const wrong = await send("/ai/place", ADMIN, json("PUT", { object: "disk" }));
		expect(await failureOf(wrong)).toMatch(/^400 .*object/);
	});
});
