import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import type { Credential, Permission } from "../../src/accounts/admission.ts";
import { newTokenText } from "../../src/accounts/token-text.ts";
import { AiError } from "../../src/core/errors.ts";
import { Authenticator } from "../../src/http/authenticate.ts";
import { v4Failure } from "../../src/http/failure-formats.ts";
import { mountRoutes } from "../../src/http/mount-routes.ts";
import { defineRoutes } from "../../src/http/route.ts";
import type { AppServices } from "../../src/surfaces/services.ts";

const RUN = "http://gateway/client/v4/accounts/local/ai/run/@cf/openai/whisper";
const TOKEN = newTokenText("local");
const JSON_TYPE = "application/json";

/** A lazy route that only records that it was reached. */
function gateway({ valid = true } = {}) {
	const verified: Permission[] = [];
	const state = { time: 1_000_000, reached: 0, bodyUsed: false };
	const ledgers = {
		of: () => ({
			verify: async (_: Credential, permission: Permission) => {
				verified.push(permission);
				if (!valid) throw new AiError("authentication");
			},
		}),
	} as unknown as AppServices["ledgers"];
	const app = new Hono();
	const services = {
		ledgers,
		now: () => state.time,
		uuid: () => "",
		log: () => {},
	} as unknown as AppServices;
	const routes = defineRoutes(
		{ bases: [{ path: "/client/v4/accounts/:account/ai" }], tag: "Test", failure: v4Failure },
		[
			{
				method: "POST",
				path: "/run/:model{.+}",
				summary: "Records the request",
				permission: "run",
				lazy: true,
				handler: (c) => {
					state.reached++;
					return c.text("");
				},
			},
		],
	);
	const authentication = new Authenticator({ allowAnonymous: false }, services);
	mountRoutes(app, { routes, unknown: [] }, { services, authentication });
	const post = async (headers: Record<string, string>, body: BodyInit = "{}"): Promise<number> => {
		const all = { authorization: `Bearer ${TOKEN}`, ...headers };
		const request = new Request(RUN, { method: "POST", headers: all, body });
		const { status } = await app.request(request);
		state.bodyUsed = request.bodyUsed;
		return status;
	};
	return { post, state, verified };
}

describe("a body that is read before its token is verified", () => {
	it("is JSON of at most 16 KiB", async () => {
		const { post, verified } = gateway();
		await post({ "content-type": JSON_TYPE, "content-length": "16384" });
		await post({ "content-type": "application/problem+json; charset=utf-8", "content-length": "2" });
		expect(verified).toEqual([]);
	});
});

describe("a token is verified before a body", () => {
	const bodies: [string, Record<string, string>][] = [
		["above 16 KiB", { "content-type": JSON_TYPE, "content-length": "16385" }],
		["of unknown length", { "content-type": JSON_TYPE }],
		["that is compressed", { "content-type": JSON_TYPE, "content-length": "9", "content-encoding": "gzip" }],
		["that is a form", { "content-type": "multipart/form-data; boundary=b", "content-length": "9" }],
		["that is a file", { "content-type": "audio/mp4", "content-length": "9" }],
		["of no type", { "content-type": "application/x-www-form-urlencoded", "content-length": "9" }],
	];

	it.each(bodies)("%s", async (_, headers) => {
		const { post, state, verified } = gateway();
		expect(await post(headers)).toBe(200);
		expect(verified).toEqual(["run"]);
		expect(state.reached).toBe(1);
	});

	it.each(bodies)(
		"%s: an invalid token does not reach the handler, and the body is not read",
		async (_, headers) => {
			const { post, state } = gateway({ valid: false });
			expect(await post(headers)).toBe(401);
			expect(state).toMatchObject({ reached: 0, bodyUsed: false });
		},
	);
});

describe("a verified token", () => {
	const LARGE = { "content-type": "audio/mp4", "content-length": "9" };

	it("is not verified again within a second", async () => {
		const { post, state, verified } = gateway();
		await post(LARGE);
		state.time += 999;
		await post(LARGE);
		expect(verified).toHaveLength(1);
		state.time += 1;
		await post(LARGE);
		expect(verified).toHaveLength(2);
	});

	it("is cached only if it was valid", async () => {
		const { post, verified } = gateway({ valid: false });
		await post(LARGE);
		await post(LARGE);
		expect(verified).toHaveLength(2);
	});
});
