import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import type { FailureFormat } from "../../src/http/failure-formats.ts";
import { mountRoutes } from "../../src/http/mount-routes.ts";
import { defineRoutes, defineUnknown } from "../../src/http/route.ts";
import type { AppServices } from "../../src/surfaces/services.ts";

/** Writes the code, the description and the name of the format. */
const format =
	(name: string): FailureFormat =>
	({ code, description, status }, id) =>
		Response.json({ name, code, description, id }, { status: status as 400 });

interface Options {
	guard?: () => void;
	identify?: () => void;
	/** Whether the account has verified the caller's credential. */
	verified?: boolean;
}

function appOf({ guard, identify, verified = true }: Options = {}) {
	const app = new Hono();
	const logged: [number, string][] = [];
	const services = {
		uuid: () => "id-1",
		log: ({ code }: AiError, id: string) => void logged.push([code, id]),
		ledgers: {
			of: () => ({
				async verify() {
					throw new AiError("forbidden", "no such token");
				},
			}),
		},
	} as unknown as AppServices;
	const group = { bases: [{ path: "/base" }], tag: "Test", failure: format("plain") };
	const handler = (c: { text(text: string): Response }) => c.text("answer");
	const failing = () => {
		throw new AiError("invalidRequest", "wrong");
	};
	const caller = { account: "a", credential: { kind: "operator" as const }, verified };
	const routes = [
		...defineRoutes(group, [
			{ method: "GET", path: "/open", summary: "Open", permission: "none", handler },
			{ method: "GET", path: "/storable", summary: "Storable", permission: "read", handler },
			{ method: "GET", path: "/open-private", summary: "Open", permission: "none", noStore: true, handler },
			{ method: "GET", path: "/failing", summary: "Fails", permission: "token", handler: failing },
			{ method: "GET", path: "/lazy", summary: "Fails", permission: "run", lazy: true, handler: failing },
			{
				method: "GET",
				path: "/served",
				summary: "Without a credential",
				permission: "read",
				unauthenticated: async () => caller,
				handler: (_, { identity }) => Response.json(identity),
			},
			{ method: "GET", path: "/private", summary: "Private", permission: "read", noStore: true, handler },
		]),
	];
	const unknown = [
		...defineUnknown(group, [
			{
				path: "/hint/*",
				explain: (path) => (path.endsWith("x") ? "Use y" : undefined),
				explained: format("hint"),
			},
			{ path: "/same/*", explain: () => "Use z" },
			{ path: "*" },
		]),
	];
	mountRoutes(
		app,
		{ routes, unknown },
		{
			services,
			authentication: {
				async identify(_, { permission }) {
					identify?.();
					return permission === "none" ? {} : { caller };
				},
				verify: async (_request, _route, identity) => identity,
			},
			...(guard && { guard }),
		},
	);
	const send = async (method: string, path: string) => {
		const response = await app.request(`http://gateway/base${path}`, { method });
		const text = await response.text();
		return { status: response.status, text, store: response.headers.get("cache-control") };
	};
	return { send, logged };
}

const refusal = (name: string, code: number, description: string) =>
	JSON.stringify({ name, code, description, id: "id-1" });

describe("mountRoutes", () => {
	it("answers a route, and forbids to store an answer to a caller", async () => {
		const { send, logged } = appOf();
		expect(await send("GET", "/open")).toEqual({ status: 200, text: "answer", store: null });
		expect(await send("GET", "/private")).toEqual({ status: 200, text: "answer", store: "no-store" });
		// One is a public answer, and the other has no caller.
		for (const path of ["/storable", "/open-private"])
			expect(await send("GET", path)).toEqual({ status: 200, text: "answer", store: null });
		expect(logged).toEqual([]);
	});

	it.each([
		["POST", "/open", 405, refusal("plain", 7001, "POST not supported for requested URI.")],
		["GET", "/nothing", 400, refusal("plain", 7000, "No route for that URI")],
		["GET", "/hint/a", 400, refusal("plain", 7000, "No route for that URI")],
		["GET", "/hint/x", 400, refusal("hint", 7000, "Use y")],
		["GET", "/same/a", 400, refusal("plain", 7000, "Use z")],
		["GET", "/opem", 400, refusal("plain", 7000, "No route for that URI: the address is /base/open")],
	])("refuses %s %s", async (method, path, status, text) => {
		const { send, logged } = appOf();
		expect(await send(method, path)).toEqual({ status, text, store: null });
		// For the metrics: no line is written for a failure of the caller.
		expect(logged).toEqual([[status === 405 ? 7001 : 7000, "id-1"]]);
	});

	it.each(["/private", "/nothing"])("refuses and logs a request without a credential: %s", async (path) => {
		const { send, logged } = appOf({
			identify: () => {
				throw new AiError("authentication");
			},
		});
		expect(await send("GET", path)).toMatchObject({ status: 401 });
		expect(logged).toEqual([[10000, "id-1"]]);
	});

	it("tells the handler that a request which it serves has no credential", async () => {
		const caller = { account: "a", credential: { kind: "operator" }, verified: true };
		const identity = async (app: ReturnType<typeof appOf>) =>
			JSON.parse((await app.send("GET", "/served")).text);
		expect(await identity(appOf())).toEqual({ caller });
		const refused = appOf({
			identify: () => {
				throw new AiError("authentication");
			},
		});
		expect(await identity(refused)).toEqual({ caller, unauthenticated: true });
	});

	it.each([
		["/failing", false, 400, "wrong"],
		["/lazy", false, 403, "no such token"],
		["/lazy", true, 400, "wrong"],
	])(
		"verifies the caller of a failed request on a lazy route: %s %s",
		async (path, verified, status, text) => {
			const answer = await appOf({ verified }).send("GET", path);
			expect(answer.status).toBe(status);
			expect(answer.text).toContain(text);
		},
	);

	it.each(["/open", "/nothing"])("runs the guard before everything else: %s", async (path) => {
		const calls: string[] = [];
		const { send, logged } = appOf({
			guard: () => {
				throw new AiError("forbidden", "not here");
			},
			identify: () => void calls.push("identify"),
		});
		expect(await send("GET", path)).toMatchObject({ status: 403 });
		expect(calls).toEqual([]);
		expect(logged).toEqual([[10000, "id-1"]]);
	});
});
