import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { ConfigError, configure } from "../../src/config/index.ts";
import { testServices } from "../gateway.ts";

const PATH = "/client/v4/accounts/local/ai/v1/chat/completions";
const PAGE = "https://app.example.com";

const preflight = (vars: object, origin: string) =>
	createApp(testServices(), configure(vars)).request(PATH, {
		method: "OPTIONS",
		headers: {
			origin,
			"access-control-request-method": "POST",
			"access-control-request-headers": "authorization,content-type",
		},
	});
const CORS = { origins: [PAGE] };

describe("CORS", () => {
	it("is off by default: a preflight is refused like any request without a token", async () => {
		const answer = await preflight({}, PAGE);
		expect(answer.status).toBe(401);
		expect(answer.headers.get("access-control-allow-origin")).toBeNull();
	});

	it("answers a preflight of a listed origin without a token", async () => {
		const answer = await preflight({ CORS }, PAGE);
		expect(answer.status).toBe(204);
		expect(answer.headers.get("access-control-allow-origin")).toBe(PAGE);
		expect(answer.headers.get("access-control-allow-methods")).toContain("POST");
		expect(answer.headers.get("access-control-allow-headers")).toBe("authorization,content-type");
		expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
	});

	it("allows no other origin, and allows a listed page to read its refusal", async () => {
		const other = await preflight({ CORS }, "https://evil.example.com");
		expect(other.headers.get("access-control-allow-origin")).toBeNull();
		const refused = await createApp(testServices(), configure({ CORS })).request(PATH, {
			method: "POST",
			headers: { origin: PAGE },
		});
		expect(refused.status).toBe(401);
		expect(refused.headers.get("access-control-allow-origin")).toBe(PAGE);
	});

	it.each([["http://x/path"], ["x.example.com"], ["null"]])("refuses %s as an origin", (origin) => {
		expect(() => configure({ CORS: { origins: [origin] } })).toThrow(ConfigError);
	});
});
