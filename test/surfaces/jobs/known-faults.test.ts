/**
 * What other gateways' batches got wrong, and no other test here has: batches without a poll, budgets of keys, failures that are only in
 * the file of errors, an operator who cancels a caller's batch, ids that callers choose, and models that no backend has.
 */
import { expect, it } from "vitest";
import { PostponedWork } from "../../../src/storage/queue/work.ts";
import { batchWork } from "../../../src/surfaces/jobs/batch-work.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { batches, type Chat, chat, jsonLines, MODEL } from "./batch-runs.ts";

const NEURONS_PER_LINE = 100.1;
const VARS = {
	...ENGINE_VARS,
	MODELS: {
		[MODEL]: {
			task: "Text Generation",
			prices: [
				{ unit: "per M input tokens", neurons: 100_000 },
				{ unit: "per M output tokens", neurons: 200_000 },
			],
		},
	},
	JOBS: { concurrency: 2, discount: 1 },
};
/** One token for 0.1 neurons, and 500 for 100. */
const USAGE = { prompt_tokens: 1, completion_tokens: 500, total_tokens: 501 };

/** `called`: with each call of the engine. */
function closed({ called }: { called?: () => Promise<unknown> } = {}) {
	const { fetch, requests } = upstream(async (request) => {
		const { messages } = await request.json<{ messages: { content: string }[] }>();
		await called?.();
		return messages[0]?.content.includes("fails")
			? Response.json({ error: { message: "This prompt is not possible" } }, { status: 400 })
			: Response.json({ ...completion("Hello"), usage: USAGE });
	});
	const gateway = closedGateway({ vars: VARS, fetch });
	const { account, send, services } = gateway;
	const queued: { account: string; key: string }[] = [];
	services.storage = {
		...services.storage,
		queue: Object.assign(Object.create(services.storage.queue), {
			enqueue: async (item: { account: string; key: string }) => queued.push(item),
			status: async () => undefined,
		}),
	};
	let fence = 0;
	return {
		...gateway,
		requests,
		/** The id of the batch. */
		async create(lines: readonly Chat[], token: string, headers: Record<string, string> = {}) {
			const form = new FormData();
			form.set("purpose", "batch");
			form.set("file", new File([jsonLines(lines)], "requests.jsonl"));
			const uploaded = await send("/ai/v1/files", token, { method: "POST", body: form });
			const { id: input_file_id } = await uploaded.json<{ id: string }>();
			const fields = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
			const init = json("POST", fields);
			const made = await send("/ai/v1/batches", token, {
				...init,
				headers: { ...(init.headers as object), ...headers },
			});
			return (await made.json<{ id: string }>()).id;
		},
		/** Runs the oldest batch to its end, or until it waits for a minute. Returns whether it has ended. */
		async run(): Promise<boolean> {
			const { key = "" } = queued[0] ?? {};
			const { signal } = new AbortController();
			for (;;)
				try {
					await batchWork(services).run({
						...{ account, key, kind: "batches", payload: undefined, attempt: 1, fence: ++fence, signal },
						progress: () => {},
					});
					queued.shift();
					return true;
				} catch (thrown) {
					if (!(thrown instanceof PostponedWork)) throw thrown;
					if (thrown.milliseconds >= 60_000) return false;
					await scheduler.wait(Math.min(thrown.milliseconds, 50));
				}
		},
		bills: async () =>
			(await services.ledgers.of(account).requests({ limit: 100 })).requests.map(
				({ microNeurons }) => microNeurons / 1e6,
			),
	};
}

interface Shown {
	status: string;
	request_counts: object;
	output_file_id: string | null;
	error_file_id: string | null;
	waiting?: { code: number };
}

it("a batch without a poll is billed, and its failures are counted and free", async () => {
	const { bills, create, createToken, run, send } = closed();
	const token = await createToken(["Workers AI Run"]);
	const id = await create([chat("a"), chat("fails 1"), chat("b"), chat("fails 2")], token);
	expect(await run()).toBe(true);
	const charged = await bills();
	expect(charged.filter((neurons) => neurons > 0)).toEqual([NEURONS_PER_LINE, NEURONS_PER_LINE]);
	const shown = await (await send(`/ai/v1/batches/${id}`, token)).json<Shown>();
	expect(shown).toMatchObject({
		...{ status: "completed", request_counts: { total: 4, completed: 2, failed: 2 } },
	});
	expect(await bills()).toEqual(charged);
});

it("the budget of a key holds for its batches, also if there are several", async () => {
	const { bills, create, createToken, requests, run, send } = closed();
	const budget = 5 * NEURONS_PER_LINE;
	const token = await createToken(["Workers AI Run"], { limits: { daily_neurons: budget } });
	const lines = Array.from({ length: 6 }, (_, index) => chat(String(index), { max_tokens: 500 }));
	const ids = [await create(lines, token), await create(lines, token)];
	expect(await run()).toBe(false);
	const spent = (await bills()).reduce((sum, neurons) => sum + neurons, 0);
	expect(spent).toBeLessThanOrEqual(budget);
	expect(requests.length).toBe(Math.round(spent / NEURONS_PER_LINE));
	const shown = await (await send(`/ai/v1/batches/${ids[0]}`, token)).json<Shown>();
	expect(shown).toMatchObject({ status: "in_progress", waiting: { code: 3036 } });
	// Another key of the account is not bound by it.
	const other = await createToken(["Workers AI Run"]);
	expect(
		(await send("/ai/v1/chat/completions", other, json("POST", chat("live", { max_tokens: 500 }).body)))
			.status,
	).toBe(200);
});

it("the owner of a batch that the operator cancels still has its results", async () => {
	let cancelled: Promise<number> | undefined;
	const gateway = closed({
		called: () => {
			cancelled ??= send(`/ai/v1/batches/${id}/cancel`, ADMIN, json("POST", {})).then(({ status }) => status);
			return cancelled;
		},
	});
	const { create, createToken, run, send } = gateway;
	const token = await createToken(["Workers AI Run"]);
	const stranger = await createToken(["Workers AI Run"]);
	const id = await create(
		Array.from({ length: 90 }, (_, index) => chat(String(index))),
		token,
	);
	expect((await send(`/ai/v1/batches/${id}/cancel`, stranger, json("POST", {}))).status).toBe(404);
	expect(await run()).toBe(true);
	expect(await cancelled).toBe(200);
	const shown = await (await send(`/ai/v1/batches/${id}`, token)).json<Shown>();
	expect(shown.status).toBe("cancelled");
	const found: number[] = [];
	for (const file of [shown.output_file_id, shown.error_file_id]) {
		const text = await (await send(`/ai/v1/files/${file}/content`, token)).text();
		found.push(text.trimEnd().split("\n").length);
	}
	const [answered = 0, others = 0] = found;
	expect(shown.request_counts).toEqual({ total: 90, completed: answered, failed: 0 });
	expect([answered + others, answered < 90]).toEqual([90, true]);
	expect((await send(`/ai/v1/files/${shown.error_file_id}`, stranger)).status).toBe(404);
	// Its input is free again.
	const { input_file_id } = shown as unknown as { input_file_id: string };
	expect((await send(`/ai/v1/files/${input_file_id}`, token, { method: "DELETE" })).status).toBe(200);
});

it("ids that callers choose are no ids of bills: two batches with the same ones are billed each", async () => {
	const { bills, create, createToken, run, send, services, account } = closed();
	const token = await createToken(["Workers AI Run"]);
	const live = await send("/ai/v1/chat/completions", token, json("POST", chat("live").body));
	expect(live.status).toBe(200);
	await live.text();
	const [row] = (await services.ledgers.of(account).requests({})).requests;
	const known = String((row as { id?: string; ticket?: string }).id ?? (row as { ticket?: string }).ticket);
	// The id of a bill that exists, as ids of the lines and of the requests that create the batches.
	const lines = [chat(known), chat("batch"), chat("__proto__")];
	const headers = { "x-request-id": known, "idempotency-key": known, "cf-ray": known };
	const ids = [await create(lines, token, headers), await create(lines, token, headers)];
	expect(new Set(ids).size).toBe(2);
	expect([await run(), await run()]).toEqual([true, true]);
	expect((await bills()).filter((neurons) => neurons > 0)).toHaveLength(1 + 2 * lines.length);
	for (const id of ids) {
		const { output_file_id } = await (await send(`/ai/v1/batches/${id}`, token)).json<Shown>();
		const text = await (await send(`/ai/v1/files/${output_file_id}/content`, token)).text();
		expect(
			text
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line).custom_id),
		).toEqual([known, "batch", "__proto__"]);
	}
});

it("a model that no backend has is a clear error in each API", async () => {
	const { create, openai, post, runAll } = batches({});
	const { id } = await create(jsonLines([chat("a", { model: "@cf/none/none" })]));
	await runAll();
	expect(await openai.batches.retrieve(id)).toMatchObject({
		status: "failed",
		errors: { data: [{ code: "model_not_found", line: 1, param: "body.model" }] },
	});
	const queued = await post("/run/@cf/none/none?queueRequest=true", { requests: [{ prompt: "a" }] });
	expect(queued.status).toBe(400);
});
