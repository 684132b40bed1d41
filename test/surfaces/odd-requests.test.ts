/** Unusual requests of each API, sent to the hosts of each API. The hosts refuse what the real ones refuse. */
import { describe, expect, it } from "vitest";
import { BASE } from "../gateway.ts";
import { gatewayTo, TARGET_NAMES } from "./odd-requests/hosts.ts";
import { REFUSED_REQUESTS } from "./odd-requests/refused.ts";
import {
	CHAT_REQUESTS,
	COMPLETIONS_REQUESTS,
	EMBEDDINGS_REQUESTS,
	GEMINI_REQUESTS,
	MESSAGES_REQUESTS,
	type OddRequest,
	RESPONSES_REQUESTS,
	RUN_REQUESTS,
} from "./odd-requests/requests.ts";

const SURFACES: Readonly<Record<string, readonly OddRequest[]>> = {
	"chat completions": CHAT_REQUESTS,
	Messages: MESSAGES_REQUESTS,
	Responses: RESPONSES_REQUESTS,
	Gemini: GEMINI_REQUESTS,
	run: RUN_REQUESTS,
};

describe.each(Object.entries(SURFACES))("%s", (_, requests) => {
	const gateways = TARGET_NAMES.map((name) => ({ name, ...gatewayTo(name) }));
	it.each(requests)("$name", async ({ path, body, refusedBy = [] }) => {
		const results = await Promise.all(
			gateways.map(async ({ name, post }) => {
				const response = await post(path, body);
				const text = await response.text();
				return refusedBy.includes(name)
					? [name, response.status]
					: [name, response.status, text.includes("Hello") ? "Hello" : text];
			}),
		);
		expect(results).toEqual(
			TARGET_NAMES.map((name) => (refusedBy.includes(name) ? [name, 400] : [name, 200, "Hello"])),
		);
	});
});

describe.each(Object.entries({ completions: COMPLETIONS_REQUESTS, embeddings: EMBEDDINGS_REQUESTS }))(
	"%s of an engine",
	(_, requests) => {
		const { post } = gatewayTo("an engine");
		it.each(requests)("$name", async ({ path, body, refusedBy = [] }) => {
			const response = await post(path, body);
			const answer = await response.text();
			const isAnswered = /"text": ?"Hello"|"embedding": ?(?:"AACAPwAAAAA="|\[1,0\])/.test(answer);
			expect([response.status, isAnswered || answer]).toEqual(
				refusedBy.length > 0 ? [400, expect.stringContaining("error")] : [200, true],
			);
		});
	},
);

describe("a request that its vendor refuses", () => {
	const { app, bodies } = gatewayTo("an engine");
	const sent = (path: string, body: string) =>
		app.request(BASE + path, { method: "POST", headers: { "content-type": "application/json" }, body });

	it.each(REFUSED_REQUESTS)("is 400 with its place: $path, $name", async ({ path, text, names }) => {
		const response = await sent(path, text);
		const answer = await response.text();
		expect([response.status, answer]).toEqual([400, expect.stringContaining(names)]);
		expect(bodies).toEqual([]);
	});

	const DEEP = 20_000;
	it.each([
		["lists", `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`],
		["objects", `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`],
	])("deep %s do not end the process", async (_, value) => {
		const body = `{"model":"acme/assistant-1","messages":[{"role":"user","content":"Hi"}],"metadata":${value}}`;
		const { status } = await sent("/v1/chat/completions", body);
		expect([200, 400]).toContain(status);
	});

	it("has the last of two equal keys, and no mark of the order of bytes", async () => {
		const target = gatewayTo("an engine");
		const body =
			'\uFEFF{"model":"acme/assistant-1","messages":[],"messages":[{"role":"user","content":"Hi"}]}';
		const response = await target.app.request(`${BASE}/v1/chat/completions`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body,
		});
		const answer = await response.text();
		expect([response.status, answer]).toEqual([200, expect.stringContaining("Hello")]);
		expect(target.seen.at(-1)?.turns.at(-1)?.text).toBe("Hi");
	});
});
