/** Events of batches that have ended: their form, their signature as OpenAI's SDK verifies it, and what a receiver that fails gets. */
import OpenAI from "openai";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { EventPayload } from "../../../src/jobs/batches/events.ts";
import { type NewWork, PermanentWorkError, type WorkRun } from "../../../src/storage/queue/work.ts";
import { batchWork } from "../../../src/surfaces/jobs/batch-work.ts";
import { eventWork } from "../../../src/surfaces/jobs/event-work.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, chat, jsonLines, MODEL } from "./batch-runs.ts";

/** 24 random bytes. */
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const URL_OF_WEBHOOK = "https://hooks.example.com/batches";
const VARS = {
	...ENGINE_VARS,
	JOBS: { webhooks: { local: { url: URL_OF_WEBHOOK, secret: "HOOK_SECRET" } } },
	HOOK_SECRET: SECRET,
};

afterEach(() => {
	vi.useRealTimers();
});

function withEvents(vars: Record<string, unknown> = VARS, status = 200) {
	const { fetch, requests } = upstream((request) =>
		request.url.startsWith("http://engine/")
			? Response.json(completion("Hello"))
			: new Response(null, { status }),
	);
	const gateway = batches({ vars, fetch });
	const { services } = gateway;
	const { queue } = services.storage;
	const events: NewWork[] = [];
	const enqueue = async (items: NewWork | readonly NewWork[]): Promise<number> => {
		if (!Array.isArray(items)) return queue.enqueue(items);
		events.push(...(items as NewWork[]));
		return items.length;
	};
	services.storage = { ...services.storage, queue: Object.assign(Object.create(queue), { enqueue }) };
	const posts = (): Request[] => requests.filter(({ url }) => !url.startsWith("http://engine/"));
	return {
		...gateway,
		events,
		posts,
		/** Runs the item of an event. */
		deliver: (item: NewWork) =>
			eventWork(services).run({
				...{ ...item, payload: JSON.parse(JSON.stringify(item.payload)) as unknown },
				...{ attempt: 1, fence: 1, signal: new AbortController().signal, progress: () => {} },
			}),
	};
}

const typesOf = (events: readonly NewWork[]): string[] =>
	events.map(({ payload }) => (payload as EventPayload).event.type);

describe("the event of a batch", () => {
	it("is what OpenAI's SDK unwraps, and no other secret verifies it", async () => {
		const gateway = withEvents();
		const { id } = await gateway.create(jsonLines([chat("a")]));
		expect(gateway.events).toEqual([]);
		await gateway.runAll();
		const [event] = gateway.events;
		expect(event).toMatchObject({ account: "local", kind: "batch-events", key: `${id}/webhook` });
		await gateway.deliver(event as NewWork);
		const [sent] = gateway.posts();
		expect([sent?.method, sent?.url]).toEqual(["POST", URL_OF_WEBHOOK]);
		const body = (await sent?.text()) ?? "";
		const headers = new Headers(sent?.headers);
		vi.useFakeTimers({ toFake: ["Date"] });
		vi.setSystemTime(Number(headers.get("webhook-timestamp")) * 1_000);
		const { webhooks } = new OpenAI({ apiKey: "none", dangerouslyAllowBrowser: true });
		expect(await webhooks.unwrap(body, headers, SECRET)).toEqual({
			...{ id: `evt_${id}`, object: "event", type: "batch.completed" },
			...{ created_at: expect.any(Number), data: { id } },
		});
		expect(headers.get("webhook-id")).toBe(`evt_${id}`);
		await expect(webhooks.unwrap(body, headers, "whsec_AAAA")).rejects.toThrow("signature");
		await expect(webhooks.unwrap(body.replace("completed", "failed"), headers, SECRET)).rejects.toThrow(
			"signature",
		);
	});

	it("has the type of its end", async () => {
		const failed = withEvents();
		await failed.create("no JSON\n");
		await failed.runAll();
		expect(typesOf(failed.events)).toEqual(["batch.failed"]);

		const cancelled = withEvents();
		const { id } = await cancelled.create(jsonLines([chat("a")]));
		await cancelled.openai.batches.cancel(id);
		await cancelled.runAll();
		expect(typesOf(cancelled.events)).toEqual(["batch.cancelled"]);

		const expired = withEvents();
		await expired.create(jsonLines([chat("a")]));
		vi.useFakeTimers({ toFake: ["Date"] });
		vi.setSystemTime(Date.now() + 25 * 3_600_000);
		await expired.runAll();
		expect(typesOf(expired.events)).toEqual(["batch.expired"]);
	});

	it("of the other APIs has their ids, and Gemini's names", async () => {
		const gateway = withEvents();
		const base = "http://gateway/client/v4/accounts/local/ai";
		const send = async <Created>(path: string, body: object, headers = {}): Promise<Created> => {
			const response = await gateway.app.request(base + path, {
				method: "POST",
				headers: { "content-type": "application/json", ...headers },
				body: JSON.stringify(body),
			});
			return response.json<Created>();
		};
		const params = { model: MODEL, max_tokens: 10, messages: [{ role: "user", content: "Hello" }] };
		const message = await send<{ id: string }>(
			"/v1/messages/batches",
			{ requests: [{ custom_id: "a", params }] },
			{ "anthropic-version": "2023-06-01" },
		);
		await gateway.runAll();
		const requests = [{ request: { contents: [{ parts: [{ text: "Hello" }] }] } }];
		const gemini = await send<{ name: string }>(`/v1beta/models/${MODEL}:batchGenerateContent`, {
			batch: { inputConfig: { requests: { requests } } },
		});
		await gateway.runAll();
		expect(gateway.events.map(({ payload }) => (payload as EventPayload).event)).toMatchObject([
			{ type: "batch.completed", data: { id: message.id } },
			{ type: "batch.succeeded", data: { id: gemini.name } },
		]);
	});

	it("is not lost if the process ends between the end of the batch and the queue", async () => {
		const gateway = withEvents();
		const { id } = await gateway.create(jsonLines([chat("a")]));
		const item = gateway.queued.at(-1) as { account: string; key: string };
		const run = (fence: number): WorkRun => ({
			...{ ...item, kind: "batches", payload: undefined, attempt: 1, fence },
			...{ signal: new AbortController().signal, progress: () => {} },
		});
		const { storage } = gateway.services;
		const broken = async (): Promise<never> => {
			throw new Error("the process has ended");
		};
		gateway.services.storage = {
			...storage,
			queue: Object.assign(Object.create(storage.queue), { enqueue: broken }),
		};
		await expect(batchWork(gateway.services).run(run(1))).rejects.toThrow("the process has ended");
		expect((await gateway.openai.batches.retrieve(id)).status).toBe("completed");
		gateway.services.storage = storage;
		await batchWork(gateway.services).run(run(2));
		expect(typesOf(gateway.events)).toEqual(["batch.completed"]);
	});

	it("goes to the queue of the binding, beside the webhook", async () => {
		const gateway = withEvents();
		const sent: unknown[] = [];
		gateway.services.batchEvents = {
			send: async (event: unknown) => void sent.push(event),
		} as never;
		const { id } = await gateway.create(jsonLines([chat("a")]));
		await gateway.runAll();
		expect(gateway.events.map(({ key }) => key)).toEqual([`${id}/queue`, `${id}/webhook`]);
		await gateway.deliver(gateway.events[0] as NewWork);
		expect(sent).toMatchObject([{ account: "local", type: "batch.completed", data: { id } }]);
		expect(gateway.posts()).toEqual([]);
	});

	it("exists only for accounts with a receiver", async () => {
		const other = { url: URL_OF_WEBHOOK, secret: "HOOK_SECRET" };
		const none = withEvents({ ...VARS, JOBS: { webhooks: { other } } });
		await none.create(jsonLines([chat("a")]));
		await none.runAll();
		expect(none.events).toEqual([]);
		const all = withEvents({ ...VARS, JOBS: { webhooks: { "*": other } } });
		await all.create(jsonLines([chat("a")]));
		await all.runAll();
		expect(all.events).toHaveLength(1);
	});
});

describe("a webhook", () => {
	const EVENT: NewWork = {
		...{ account: "local", kind: "batch-events", key: "one/webhook" },
		payload: {
			receiver: "webhook",
			event: { id: "evt_one", object: "event", type: "batch.completed", created_at: 1, data: { id: "one" } },
		},
	};
	const failureOf = async (gateway: ReturnType<typeof withEvents>): Promise<Error> =>
		gateway.deliver(EVENT).then(
			() => new Error("it was delivered"),
			(thrown: Error) => thrown,
		);

	it.each([
		[500, false],
		[302, false],
		[410, true],
	])("that answers %d is an error without the secret; for good: %s", async (status, isPermanent) => {
		const error = await failureOf(withEvents(VARS, status));
		expect(error.message).toBe(`The webhook answered with status ${status}`);
		expect(error instanceof PermanentWorkError).toBe(isPermanent);
	});

	it("has a public address, unless the operator allows private ones", async () => {
		const at = (url: string, more = {}) => ({
			...VARS,
			JOBS: { webhooks: { local: { url, secret: "HOOK_SECRET" } } },
			...more,
		});
		for (const url of ["http://hooks.example.com/", "https://10.0.0.1/", "https://localhost/"]) {
			const gateway = withEvents(at(url));
			const error = await failureOf(gateway);
			expect([url, error instanceof PermanentWorkError]).toEqual([url, true]);
			expect(gateway.posts()).toEqual([]);
		}
		const gateway = withEvents(at("http://10.0.0.1/", { AI_GATEWAY: { allow_private_addresses: true } }));
		await gateway.deliver(EVENT);
		expect(gateway.posts()).toHaveLength(1);
	});

	it.each([
		[{ url: "hooks.example.com", secret: "HOOK_SECRET" }, "url"],
		[{ url: "https://user:password@hooks.example.com", secret: "HOOK_SECRET" }, "url"],
		[{ url: URL_OF_WEBHOOK, secret: "NO_SECRET" }, "secret"],
		[{ url: URL_OF_WEBHOOK, secret: "BAD_SECRET" }, "secret"],
		[{ url: URL_OF_WEBHOOK }, "secret"],
	])("with %j stops the start with the field, and without the secret", (webhook, field) => {
		const vars = { ...VARS, JOBS: { webhooks: { local: webhook } }, BAD_SECRET: "whsec_not base64!" };
		const error = (() => {
			try {
				batches({ vars });
				return new Error("it started");
			} catch (thrown) {
				return thrown as Error;
			}
		})();
		expect(error.message).toContain(`JOBS.webhooks.local.${field}`);
		expect(error.message).not.toMatch(/not base64!|password/);
	});
});
