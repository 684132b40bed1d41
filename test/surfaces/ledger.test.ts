/** The records that the account keeps of a request, over its complete path. */
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
	const { send } = gateway;
	return {
		...gateway,
		run: (body: object, token = ADMIN) => send(`/ai/run/${LLAMA}`, token, json("POST", body)),
		/** Settlements are batched for 100 ms. */
		records: async (count: number): Promise<Record[]> => {
			for (;;) {
				const response = await send("/ai/usage/requests", ADMIN);
				const { result } = await response.json<{ result: Record[] }>();
				const settled = result.filter(({ outcome }) => outcome !== "open");
				if (settled.length >= count) return settled;
				await scheduler.wait(20);
			}
		},
	};
}

describe("the account's record", () => {
	it("of an answer has the engine's counts", async () => {
		const { run, records } = billed(() => Response.json(completion("Hello")));
		expect((await run({ prompt: "Hi" })).status).toBe(200);
		expect(await records(1)).toMatchObject([
			{ outcome: "ok", neurons: 0.09359, attempts: 1, output_tokens: 2, estimated: false },
		]);
	});

	it("of a failure has no cost, the code and the number of calls", async () => {
		const { run, records } = billed(() => new Response("no", { status: 500 }));
		const response = await run({ prompt: "Hi" });
		expect(response.status).toBe(500);
		expect(response.headers.get("x-ganglion-backend")).toBe("engine");
		expect(response.headers.get("x-ganglion-attempts")).toBe("1");
		expect(await records(1)).toMatchObject([{ outcome: "failed", neurons: 0, attempts: 1, code: 5001 }]);
	});

	it("of a stream that is complete, interrupted, or cancelled", async () => {
		const complete = billed(() => events(delta("Hel"), delta("lo"), finish(), usage(), DONE));
		await (await complete.run({ prompt: "Hi", stream: true })).text();
		expect(await complete.records(1)).toMatchObject([{ outcome: "ok", neurons: 0.09359, estimated: false }]);

		const cut = billed(() => events(delta("Hel"), delta("lo")));
		await (await cut.run({ prompt: "Hi", stream: true })).text();
		expect(await cut.records(1)).toMatchObject([
			{ outcome: "interrupted", output_tokens: 2, estimated: true },
		]);

		const live = liveEvents();
		const cancelled = billed(() => live.response);
		live.send(delta("Hel"));
		const reader = (await cancelled.run({ prompt: "Hi", stream: true })).body?.getReader();
		await reader?.read();
		await reader?.cancel();
		await live.cancelled;
		expect(await cancelled.records(1)).toMatchObject([
			{ outcome: "cancelled", output_tokens: 1, estimated: true },
		]);
	});

	it("is made only with a valid token: other errors are not disclosed without one", async () => {
		const { send, account } = billed(() => Response.json(completion("Hello")));
		const forged = `glt_${account}_${"a".repeat(43)}`;
		for (const [path, body] of [
			[`/ai/run/${LLAMA}`, "{"],
			[`/ai/run/${LLAMA}`, "{}"],
			["/ai/run/@cf/no/such", '{"prompt":"Hi"}'],
			["/ai/run/acme/unknown", '{"prompt":"Hi"}'],
			["/ai/v1/chat/completions", "{}"],
		] as const) {
			const response = await send(path, forged, { method: "POST", body });
			expect([path, response.status]).toEqual([path, 401]);
			expect(await response.text()).toContain('"code":10000');
		}
	});
});
