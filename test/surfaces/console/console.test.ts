import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { OPEN_ACCESS, testGateway, testServices } from "../../gateway.ts";
import { closedGateway } from "../../http/access.ts";

const { app } = testGateway();
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

const get = (path: string, headers: Record<string, string> = {}) =>
	app.request(`http://gateway${path}`, { headers });

describe("the console", () => {
	it.each(["/console", "/console/", "/console/models", "/console/models/@cf/qwen/qwen3-30b-a3b-fp8"])(
		"serves its page at %s",
		async (path) => {
			const response = await get(path);
			expect(response.status).toBe(200);
			expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
			expect(response.headers.get("cache-control")).toBe("no-cache");
			expect(await response.text()).toBe("<!doctype html>");
		},
	);

	it("serves a file of the build with its type, for ever", async () => {
		const response = await get("/console/index-1a2B_c-d.js");
		expect(await response.text()).toBe("export {};");
		expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
		expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
	});

	it("lets no cache keep a file without a hash in its name", async () => {
		const response = await get("/console/notices.txt");
		expect(await response.text()).toBe("MIT");
		expect(response.headers.get("cache-control")).toBe("no-cache");
	});

	it.each(["/console", "/console/index-1a2B_c-d.js"])(
		"allows %s no other origin, no inline script and no frame",
		async (path) => {
			const { headers } = await get(path);
			const policy = headers.get("content-security-policy") ?? "";
			expect(policy.split("; ")).toEqual(
				expect.arrayContaining([
					"default-src 'none'",
					"script-src 'self'",
					"connect-src 'self'",
					"frame-ancestors 'none'",
					"form-action 'none'",
					"base-uri 'none'",
				]),
			);
			expect(policy).not.toMatch(/unsafe|https?:|\*/);
			expect(headers.get("x-content-type-options")).toBe("nosniff");
			expect(headers.get("referrer-policy")).toBe("no-referrer");
		},
	);

	it("compresses text for a client that accepts it", async () => {
		const response = await get("/console", { "accept-encoding": "gzip, br" });
		expect(response.headers.get("content-encoding")).toBe("gzip");
		expect((await get("/console")).headers.get("content-encoding")).toBeNull();
	});

	it("does not compress for a client without the encoding, where the platform replaces its header", async () => {
		const cf = { clientAcceptEncoding: "" };
		const headers = { "accept-encoding": "br, gzip" };
		const request = new Request("http://gateway/console", { headers, cf });
		expect((await app.request(request)).headers.get("content-encoding")).toBeNull();
	});

	it("refuses a file that the build does not have", async () => {
		const response = await get("/console/index-00000000.js");
		expect(response.status).toBe(404);
		expect(await response.json()).toMatchObject({ errors: [{ code: 7002, message: "Not found" }] });
	});

	it("needs no credential", async () => {
		const closed = closedGateway();
		expect((await closed.app.request("http://gateway/console")).status).toBe(200);
	});
});

describe("the root", () => {
	it("leads a browser to the console", async () => {
		const response = await get("/", HTML);
		expect(response.status).toBe(302);
		expect(response.headers.get("location")).toBe("/console");
		expect(response.headers.get("vary")).toBe("accept");
	});

	it("answers other clients with text", async () => {
		const response = await get("/", { accept: "*/*" });
		expect(response.status).toBe(200);
		expect(await response.text()).toMatch(/^Ganglion: Workers AI that anyone can run\./);
	});
});

describe("a deployment without assets", () => {
	const { assets: _, ...services } = testServices();
	const bare = createApp(services, OPEN_ACCESS);

	it("has no console, and returns the reason", async () => {
		const response = await bare.request("http://gateway/console");
		expect(response.status).toBe(404);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 7002, message: "This deployment has no console: its configuration sets no assets" }],
		});
	});

	it("answers a browser at the root with text", async () => {
		const response = await bare.request("http://gateway/", { headers: HTML });
		expect(response.status).toBe(200);
	});
});
