/** What the account keeps of a request, over the whole path of it. */
import { describe, expect, it } from "vitest";
import { completion, DONE, delta, events, finish, liveEvents, upstream, usage } from "../gateway.ts";
import { ADMIN, closedGateway, json } from "../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { "*": { targets: [{ backend: "engine" }], retries: { attempts: 1 } } },
};

interface Record {
	outcome: string;
	neurons: number;
	attempts: number;
	code?: number;
	output_tokens: number;
	estimated: boolean;
}

function billed(reply: () => Response) {
	const gateway = closedGateway({ vars: VARS, fetch: upstream(reply).fetch });
	const { ask } = gateway;
	return {
		...gateway,
		run: (body: object, token = ADMIN) => ask(`/ai/run/${LLAMA}`, token, json("POST", body)),
		/** Settlements wait for company a tenth of a second. */
		records: async (count: number): Promise<Record[]> => {
			for (;;) {
				const response = await ask("/ai/usage/requests", ADMIN);
				const { result } = await response.json<{ result: Record[] }>();
				const settled = result.filter(({ outcome }) => outcome !== "open");
				if (settled.length >= count) return settled;
				await scheduler.wait(20);
			}
		},
	};
}

describe("what an account keeps", () => {
	it("of an answer: what the engine counted", async () => {
		const { run, records } = billed(() => Response.json(completion("Hello")));
		expect((await run({ prompt: "Hi" })).status).toBe(200);
		expect(await records(1)).toMatchObject([
			{ outcome: "ok", neurons: 0.09359, attempts: 1, output_tokens: 2, estimated: false },
		]);
	});

	it("of a failure: nothing to pay, the code and the calls that were made", async () => {
		const { run, records } = billed(() => new Response("no", { status: 500 }));
		const response = await run({ prompt: "Hi" });
		expect(response.status).toBe(500);
		expect(response.headers.get("x-ganglion-backend")).toBe("engine");
		expect(response.headers.get("x-ganglion-attempts")).toBe("1");
		expect(await records(1)).toMatchObject([{ outcome: "failed", neurons: 0, attempts: 1, code: 5001 }]);
	});

	it("of a stream that is read to its end, cut, or left", async () => {
		const whole = billed(() => events(delta("Hel"), delta("lo"), finish(), usage(), DONE));
		await (await whole.run({ prompt: "Hi", stream: true })).text();
		expect(await whole.records(1)).toMatchObject([{ outcome: "ok", neurons: 0.09359, estimated: false }]);

		const cut = billed(() => events(delta("Hel"), delta("lo")));
		await (await cut.run({ prompt: "Hi", stream: true })).text();
		expect(await cut.records(1)).toMatchObject([
			{ outcome: "interrupted", output_tokens: 2, estimated: true },
		]);

		const live = liveEvents();
		const left = billed(() => live.response);
		live.send(delta("Hel"));
		const reader = (await left.run({ prompt: "Hi", stream: true })).body?.getReader();
		await reader?.read();
		await reader?.cancel();
		await live.cancelled;
		expect(await left.records(1)).toMatchObject([
			{ outcome: "cancelled", output_tokens: 1, estimated: true },
		]);
	});

	it("tells who has no token nothing but that, whatever else is wrong", async () => {
		const { ask, account } = billed(() => Response.json(completion("Hello")));
		const forged = `glt_${account}_${"a".repeat(43)}`;
		for (const [path, body] of [
			[`/ai/run/${LLAMA}`, "{"],
			[`/ai/run/${LLAMA}`, "{}"],
			["/ai/run/@cf/no/such", '{"prompt":"Hi"}'],
			["/ai/run/acme/unknown", '{"prompt":"Hi"}'],
			["/ai/v1/chat/completions", "{}"],
		] as const) {
			const response = await ask(path, forged, { method: "POST", body });
			expect([path, response.status]).toEqual([path, 401]);
			expect(await response.text()).toContain('"code":10000');
		}
	});
});
