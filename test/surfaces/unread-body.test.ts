/**
 * The CPU that a caller without a valid token can cost. A body of 9 MB whose strings are `\uXXXX` escapes costs the
 * runtime's parser most, so no route may read it before the token is verified.
 */
import { describe, expect, it } from "vitest";
import { newTokenText } from "../../src/accounts/token-text.ts";
import { ROUTES } from "../../src/surfaces/routes.ts";
import { ADMIN, closedGateway, V4 } from "../http/access.ts";

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const BODY = new TextEncoder().encode(`{"model":"${MODEL}","prompt":"${"\\u00e9".repeat(1_500_000)}"}`);

/** Routes that may have a body. The others are read with GET. */
const WITH_BODY = ROUTES.filter(({ method }) => method !== "GET");

describe("a body of 1.5 million escapes", () => {
	const { account, send } = closedGateway();

	/** Sends the body as a stream, and counts its reads. */
	async function sendBody(
		{ method, url }: { method: string; url: string },
		token: string | undefined,
		headers: Record<string, string>,
	): Promise<{ status: number; reads: number }> {
		let reads = 0;
		const body = new ReadableStream(
			{
				type: "bytes",
				pull(controller) {
					reads++;
					controller.enqueue(BODY.slice());
					controller.close();
				},
			},
			{ highWaterMark: 0 },
		);
		const response = await send(url, token, { method, headers, body });
		await response.arrayBuffer();
		return { status: response.status, reads };
	}

	const LENGTHS: [string, Record<string, string>][] = [
		["of known length", { "content-length": String(BODY.length) }],
		["of unknown length", {}],
	];

	it.each(WITH_BODY.map(({ method, path, permission }) => [method, path, permission] as const))(
		"is not read without a valid token: %s %s",
		async (method, path, permission) => {
			const url = `http://gateway${path
				.replace(":account", account)
				.replace(":model{.+}", path.includes("/models/") ? `${MODEL}:generateContent` : MODEL)
				.replace(/:\w+\{(?:\.\+)?\}/g, "x")
				.replace(/:\w+\{([\w-]+)[^}]*\}/g, "$1")
				.replace(/:\w+(?:\{[^}]+\})?/g, (name) =>
					name.startsWith(":call{") ? `${MODEL}:generateContent` : "x",
				)}`;
			// A route without tokens, whose instance does not exist.
			const refused = permission === "none" ? 404 : 401;
			for (const [length, lengthHeaders] of LENGTHS)
				for (const [token, refusal] of [
					[undefined, refused],
					["sk-no-token", refused],
					// Only the operator may call the route, so the token is not looked up.
					[newTokenText(account), permission === "operator" ? 403 : refused],
				] as const) {
					const headers = { "content-type": "application/json", ...lengthHeaders };
					const { status, reads } = await sendBody({ method, url }, token, headers);
					expect({ status, reads }, `${length}, ${token}`).toEqual({ status: refusal, reads: 0 });
				}
		},
	);

	it("is read with a valid token", async () => {
		const url = `${V4}/accounts/${account}/ai/run/${MODEL}`;
		const headers = { "content-type": "application/json", "content-length": String(BODY.length) };
		expect(await sendBody({ method: "POST", url }, ADMIN, headers)).toEqual({ status: 200, reads: 1 });
	});
});
