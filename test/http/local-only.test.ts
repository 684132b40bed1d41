import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { configure } from "../../src/config/index.ts";
import { testServices } from "../gateway.ts";
import { failureOf } from "./access.ts";

const PATH = "/client/v4/accounts/local/ai/models/search?per_page=1";
const COUNT = "/client/v4/accounts/local/ai/v1/messages/count_tokens";
const BODY = JSON.stringify({
	model: "@cf/meta/llama-3.1-8b-instruct-fp8",
	messages: [{ role: "user", content: "Hi" }],
});

function gateway(vars: object) {
	const app = createApp(testServices(), configure(vars));
	return {
		get: async (host: string, origin?: string): Promise<number> =>
			(await app.request(`http://${host}${PATH}`, origin === undefined ? {} : { headers: { origin } }))
				.status,
		post: (headers: Record<string, string>) =>
			app.request(`http://localhost:8787${COUNT}`, { method: "POST", body: BODY, headers }),
	};
}

describe("a gateway without credentials", () => {
	const { get, post } = gateway({ ALLOW_ANONYMOUS: "true" });

	it.each([
		"localhost:8787",
		"LOCALHOST",
		"app.localhost:8787",
		"127.0.0.1:8787",
		"127.8.0.1",
		"[::1]:8787",
		"192.168.1.5:8787",
		"host.docker.internal:8787",
	])("answers the host %s", async (host) => expect(await get(host)).toBe(200));

	it.each(["evil.example:8787", "localhost.evil.example", "127.0.0.1.evil.example", "gateway.lan"])(
		"refuses the host %s, because of DNS rebinding",
		async (host) => expect(await get(host)).toBe(403),
	);

	it.each(["http://localhost:5173", "http://127.0.0.1:3000", "https://app.localhost"])(
		"answers a page of this machine: %s",
		async (origin) => expect(await get("localhost:8787", origin)).toBe(200),
	);

	it.each(["https://evil.example", "http://localhost.evil.example", "null", "", "http://192.168.1.9"])(
		"refuses a foreign page: %j",
		async (origin) => expect(await get("localhost:8787", origin)).toBe(403),
	);

	it("answers a page of its own address, and refuses a page of another address", async () => {
		expect(await get("192.168.1.5:8787", "http://192.168.1.5:8787")).toBe(200);
		expect(await get("192.168.1.5:8787", "http://192.168.1.6:8787")).toBe(403);
	});

	it("refuses JSON with another content type from a page of another host", async () => {
		const origin = "http://127.0.0.1:5173";
		for (const type of ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"])
			expect((await failureOf(await post({ origin, "content-type": type }))).slice(0, 4), type).toBe("403 ");
		expect((await post({ origin, "content-type": "application/json" })).status).toBe(200);
		// The same host, and clients other than browsers.
		expect((await post({ origin: "http://localhost:8787", "content-type": "text/plain" })).status).toBe(200);
		expect((await post({ "content-type": "application/x-www-form-urlencoded" })).status).toBe(200);
	});
});

it("accepts the hosts of ALLOWED_HOSTS, and the origins of CORS", async () => {
	const { get } = gateway({
		ALLOW_ANONYMOUS: "true",
		ALLOWED_HOSTS: "gateway.lan, Other.lan",
		CORS: { origins: ["https://app.example"] },
	});
	expect(await get("gateway.lan:8787")).toBe(200);
	expect(await get("other.lan")).toBe(200);
	expect(await get("third.lan")).toBe(403);
	expect(await get("localhost:8787", "https://app.example")).toBe(200);
	expect(await get("localhost:8787", "http://app.example")).toBe(403);
	const everyone = gateway({ ALLOW_ANONYMOUS: "true", CORS: { origins: ["*"] } });
	expect(await everyone.get("localhost:8787", "http://app.example")).toBe(200);
});

it("does not apply to a gateway with tokens", async () => {
	const { get } = gateway({});
	// 401 for the missing token, not 403.
	expect(await get("gateway.example", "https://evil.example")).toBe(401);
});

it("refuses ALLOWED_HOSTS that are not host names", () => {
	for (const ALLOWED_HOSTS of ["https://a.example", "a.example:80", "a b", { a: 1 }])
		expect(() => configure({ ALLOWED_HOSTS })).toThrow(/ALLOWED_HOSTS/);
});
