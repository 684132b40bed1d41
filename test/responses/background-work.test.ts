/** Responses in the background. The test runs the work of the queue itself, as a process of the gateway does. */
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import type { ResponseStoreObject } from "../../src/responses/durable/response-store.ts";
import { StoreTables } from "../../src/responses/durable/store-tables.ts";
import type { WorkId, WorkRun } from "../../src/storage/queue/work.ts";
import { backgroundWork } from "../../src/surfaces/responses/background.ts";
import {
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	testGateway,
	upstream,
	usage,
} from "../gateway.ts";

const MODEL = "gpt-5.6-sol";
/** A machine that is busy delays the first use of a module. */
const PATIENT = { timeout: 30_000 };

type TestServices = ReturnType<typeof testGateway>["services"];

/** Runs in the object of the account. */
const inStore = <Result>(
	{ storedResponses }: TestServices,
	run: (instance: ResponseStoreObject, state: DurableObjectState) => Result | Promise<Result>,
): Promise<Result> =>
	storedResponses.call("local", (stub) => runInDurableObject(stub as never, run as never)) as Promise<Result>;

function background(reply: () => Response | Promise<Response> = () => Response.json(completion("Hello"))) {
	const { fetch, requests } = upstream(() => reply());
	const gateway = testGateway({ vars: ENGINE_VARS, fetch });
	const { services } = gateway;
	const queued: { account: string; key: string }[] = [];
	services.storage = {
		...services.storage,
		queue: Object.assign(Object.create(services.storage.queue), {
			enqueue: async (item: { account: string; key: string }) => queued.push(item),
		}),
	};
	const read = async (response: Response) => ({
		status: response.status,
		body: await response.json<Record<string, unknown>>(),
	});
	return {
		...gateway,
		requests,
		queued,
		create: async (fields: object) =>
			read(await gateway.post("/v1/responses", { model: MODEL, background: true, ...fields })),
		retrieve: async (id: unknown) => read(await gateway.get(`/v1/responses/${id}`)),
		cancel: async (id: unknown) => read(await gateway.post(`/v1/responses/${id}/cancel`, {})),
		remove: (id: unknown) =>
			gateway.app.request(`http://gateway/client/v4/accounts/local/ai/v1/responses/${id}`, {
				method: "DELETE",
			}),
		/** Runs the oldest item, like the queue. */
		work: (item = queued[0]) => {
			const run: WorkRun = {
				...{ account: item?.account ?? "", key: item?.key ?? "", kind: "responses", payload: undefined },
				...{ attempt: 1, fence: 1, signal: new AbortController().signal, progress: () => {} },
			};
			return backgroundWork(services).run(run);
		},
	};
}

describe("a response in the background", () => {
	it("is queued, runs, and is polled", async () => {
		const { create, retrieve, queued, requests, work } = background();
		const { body } = await create({ input: "Hi", metadata: { a: "b" } });
		expect(body).toMatchObject({
			status: "queued",
			background: true,
			store: true,
			output: [],
			metadata: { a: "b" },
		});
		expect(queued).toEqual([{ account: "local", kind: "responses", key: body.id }]);
		expect((await retrieve(body.id)).body).toMatchObject({ status: "queued" });
		expect(requests).toHaveLength(0);
		await work();
		expect((await retrieve(body.id)).body).toMatchObject({
			id: body.id,
			status: "completed",
			background: true,
			output: [{ type: "message", content: [{ text: "Hello" }] }],
			metadata: { a: "b" },
		});
		// A second run of the item does nothing.
		await work();
		expect(requests).toHaveLength(1);
	});

	it("continues an earlier response, and is continued", async () => {
		const { create, post, requests, work, queued } = background();
		const first = await (await post("/v1/responses", { model: MODEL, input: "One" })).json<{ id: string }>();
		const second = await create({ input: "Two", previous_response_id: first.id });
		const early = await post("/v1/responses", {
			model: MODEL,
			input: "x",
			previous_response_id: second.body.id,
		});
		expect(await early.json()).toMatchObject({ error: { param: "previous_response_id" } });
		await work(queued[0]);
		await post("/v1/responses", { model: MODEL, input: "Three", previous_response_id: second.body.id });
		const { messages } = (await requests.at(-1)?.json<{ messages: { role: string }[] }>()) ?? {
			messages: [],
		};
		expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
	});

	it("is refused at once if it cannot run", async () => {
		const { create, queued } = background();
		expect(await create({ input: "x", store: false })).toMatchObject({
			status: 400,
			body: { error: { param: "background" } },
		});
		expect(await create({ input: [{ type: "message", role: "nurse", content: "x" }] })).toMatchObject({
			status: 400,
		});
		expect(queued).toEqual([]);
	});

	it("fails with the error of its engine", async () => {
		const { create, retrieve, work } = background(() =>
			Response.json({ error: { message: "no" } }, { status: 400 }),
		);
		const { body } = await create({ input: "Hi" });
		await work();
		expect((await retrieve(body.id)).body).toMatchObject({
			status: "failed",
			error: { code: "invalid_prompt", message: expect.any(String) },
		});
	});

	it("is cancelled while it is queued, while it runs, and after its end", async () => {
		const engine = liveEvents();
		const { create, cancel, queued, retrieve, requests, work } = background(() => engine.response);
		const waiting = await create({ input: "Hi" });
		expect((await cancel(waiting.body.id)).body).toMatchObject({ status: "cancelled" });
		await work(queued[0]);
		expect(requests).toHaveLength(0);
		const running = await create({ input: "Hi", stream: false });
		const done = work(queued[1]);
		await expect.poll(() => requests.length, PATIENT).toBe(1);
		expect((await cancel(running.body.id)).body).toMatchObject({ status: "cancelled" });
		await done;
		expect((await retrieve(running.body.id)).body).toMatchObject({ status: "cancelled" });
		expect((await cancel(running.body.id)).body).toMatchObject({ status: "cancelled" });
	});

	it("ends when it is deleted, and does not come back", async () => {
		const engine = liveEvents();
		const { remove, requests, retrieve, work, post, queued } = background(() => engine.response);
		const response = await post("/v1/responses", {
			model: MODEL,
			input: "Hi",
			background: true,
			stream: true,
		});
		const done = work();
		await expect.poll(() => requests.length, PATIENT).toBe(1);
		engine.send(delta("He"));
		const reader = response.body?.getReader();
		await reader?.read();
		const id = queued[0]?.key;
		expect((await remove(id)).status).toBe(200);
		await done;
		await engine.cancelled;
		expect((await retrieve(id)).status).toBe(404);
		for (let next = await reader?.read(); next && !next.done; next = await reader?.read());
	});

	it("is not cancelled if it was not created in the background", async () => {
		const { cancel, post } = background();
		const { id } = await (await post("/v1/responses", { model: MODEL, input: "Hi" })).json<{ id: string }>();
		expect(await cancel(id)).toMatchObject({
			status: 400,
			body: { error: { message: "AiError: Bad input: Cannot cancel a synchronous response." } },
		});
	});
});

describe("a streamed response in the background", () => {
	const answer = () => events(delta("He"), delta("llo"), finish(), usage(), DONE);
	const numbers = (text: string): number[] =>
		[...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));

	it("is replayed from each event on, with the same numbers", async () => {
		const { get, post, queued, work } = background(answer);
		const live = await post("/v1/responses", { model: MODEL, input: "Hi", background: true, stream: true });
		await work();
		const text = await live.text();
		const id = queued[0]?.key;
		const all = numbers(text);
		expect(all).toEqual(all.map((_, index) => index));
		expect(text).toContain("response.completed");
		expect(await (await get(`/v1/responses/${id}?stream=true`)).text()).toBe(text);
		for (const after of [0, 3, all.length - 1]) {
			const part = await (await get(`/v1/responses/${id}?stream=true&starting_after=${after}`)).text();
			expect(numbers(part)).toEqual(all.filter((number) => number > after));
			expect(text.endsWith(part)).toBe(true);
		}
	});

	it("runs again after its process was killed, with higher numbers, and is paid once", async () => {
		let calls = 0;
		const { get, post, queued, services, work } = background(() =>
			calls++ === 0 ? liveEvents().response : answer(),
		);
		await post("/v1/responses", { model: MODEL, input: "Hi", background: true, stream: true });
		const id = queued[0]?.key ?? "";
		// A run that never ends: its process was killed.
		void work();
		await expect.poll(() => calls, PATIENT).toBe(1);
		await work();
		const text = await (await get(`/v1/responses/${id}?stream=true`)).text();
		expect(text).toContain("response.completed");
		const { requests } = await services.ledgers.of("local").requests({ limit: 10 });
		const paid = requests.filter(({ outcome, microNeurons }) => outcome === "ok" || microNeurons > 0);
		expect(paid).toHaveLength(1);
	});

	it("fails after three runs that were interrupted", async () => {
		const { create, queued, retrieve, services, requests, work } = background();
		const { body } = await create({ input: "Hi" });
		for (const ticket of ["a", "b", "c"])
			await services.storedResponses.begin("local", String(body.id), ticket);
		await work(queued[0]);
		expect(requests).toHaveLength(0);
		expect((await retrieve(body.id)).body).toMatchObject({
			status: "failed",
			error: { code: "server_error", message: "The gateway stopped during 3 runs of the response." },
		});
	});

	it("cannot be replayed if it was created without events", async () => {
		const { create, get } = background();
		const { body } = await create({ input: "Hi" });
		expect(await (await get(`/v1/responses/${body.id}?stream=true`)).json()).toMatchObject({
			error: { param: "stream", type: "invalid_request_error" },
		});
	});
});

describe("a response that its process has not put into the queue", () => {
	/** Calls the alarm at once. `enqueue`: of the queue of the object. Returns the responses that are still missing there. */
	const alarm = (services: TestServices, enqueue: (items: WorkId[]) => Promise<unknown>) =>
		inStore(services, async (instance, { storage }) => {
			Object.assign(instance, { queue: () => ({ enqueue }) });
			storage.sql.exec("UPDATE unqueued SET enqueue_at = 0");
			await instance.alarm();
			return storage.sql.exec("SELECT response FROM unqueued").toArray().length;
		});

	it("is put there by the alarm of its account, once", async () => {
		const { create, services, work } = background();
		const { body } = await create({ input: "Hi" });
		const full = async () => Promise.reject(new Error("the queue is unreachable"));
		expect(await alarm(services, full)).toBeGreaterThan(0);
		const enqueued: WorkId[] = [];
		const enqueue = async (items: WorkId[]) => enqueued.push(...items);
		expect(await alarm(services, enqueue)).toBe(0);
		expect(enqueued).toContainEqual({ account: "local", kind: "responses", key: body.id });
		expect(await alarm(services, enqueue)).toBe(0);
		expect(enqueued.filter(({ key }) => key === body.id)).toHaveLength(1);
		// The queue has it twice then, if its process did not end.
		await work();
		await work();
	});

	it("is not put there after it has started", async () => {
		const { create, services, work } = background();
		await create({ input: "Hi" });
		await work();
		const enqueue = async () => Promise.reject(new Error("nothing is missing"));
		expect(await alarm(services, enqueue)).toBe(0);
	});

	it("does not exist if the queue refuses it, and its caller gets the refusal", async () => {
		const { create, services } = background();
		const before = await services.storedResponses.usage("local");
		Object.assign(services.storage.queue, {
			enqueue: async () => Promise.reject(new AiError("storageFull", "The account's queue is full")),
		});
		expect(await create({ input: "Hi" })).toMatchObject({
			status: 413,
			body: { error: { message: expect.stringContaining("The account's queue is full") } },
		});
		expect(await services.storedResponses.usage("local")).toEqual(before);
	});
});

describe("the bytes of an account", () => {
	it("have the requests that wait, and nothing of them after the end", async () => {
		const { create, remove, services, work } = background();
		const { bytes } = await services.storedResponses.usage("local");
		// Longer than one row, with pairs of surrogates at the borders of rows.
		const instructions = `a${"😀".repeat(400_000)}`;
		const { body } = await create({ input: "Hi", instructions });
		const added = (await services.storedResponses.usage("local")).bytes - bytes;
		// The response object and the request have them.
		expect(added).toBeGreaterThan(2 * 1_600_000);
		// As after a restart.
		const counted = await inStore(services, (_, { storage }) => new StoreTables(storage).usage.bytes);
		expect(counted).toBe(bytes + added);
		const started = await services.storedResponses.begin("local", String(body.id), "ticket");
		expect(JSON.parse(started?.request ?? "{}").fields.instructions).toBe(instructions);
		await work();
		await remove(body.id);
		expect((await services.storedResponses.usage("local")).bytes).toBe(bytes);
	});
});
