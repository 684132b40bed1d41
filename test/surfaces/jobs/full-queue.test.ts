/** Batches that find the queue, the account or the disk full: each API refuses at once in its format, and stores nothing. */
import { afterEach, expect, it } from "vitest";
import { diskSpace } from "../../../src/core/disk-space.ts";
import { AiError } from "../../../src/core/errors.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, chat, jsonLines } from "./batch-runs.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "Hello" }];
const params = { model: LLAMA, max_tokens: 8, messages: MESSAGES };
const requests = [{ request: { contents: [{ parts: [{ text: "Hello" }] }] } }];

afterEach(() => diskSpace.set(undefined));

function started(vars: object = {}) {
	const { fetch } = upstream(() => Response.json(completion("Hello")));
	const gateway = batches({ vars: { ...ENGINE_VARS, ...vars }, fetch });
	const { post, upload, services } = gateway;
	const file = upload(jsonLines([chat("a")]));
	return {
		...gateway,
		file,
		creations: async () =>
			[
				[
					"/v1/batches",
					{
						...{ input_file_id: (await file).id, endpoint: "/v1/chat/completions" },
						completion_window: "24h",
					},
				],
				["/v1/messages/batches", { requests: [{ custom_id: "one", params }] }],
				[
					`/v1beta/models/${LLAMA}:batchGenerateContent`,
					{ batch: { inputConfig: { requests: { requests } } } },
				],
				[`/run/${LLAMA}?queueRequest=true`, { requests: [{ prompt: "Hello" }] }],
			] as const,
		/** Status, seconds of `retry-after`, and the error of the format. */
		async refusal(path: string, body: object) {
			const response = await post(path, body);
			const { error, errors } = await response.json<{ error?: object; errors?: object[] }>();
			return [response.status, Number(response.headers.get("retry-after")), error ?? errors?.[0]] as const;
		},
		/** Objects of the account: its file only. */
		stored: async () => (await services.storage.blobs("local").list()).blobs.length,
		open: async () => (await services.jobs.usage("local")).openBatches,
	};
}

/** In each format the message of the failure, and the type of its status. */
const errorOf = (path: string, message: RegExp): object => ({
	message: expect.stringMatching(message),
	...(path.includes("messages") && { type: "request_too_large" }),
	...(path.startsWith("/run") && { code: 3006 }),
});

it("a full queue", async () => {
	const gateway = started();
	const { creations, open, refusal, runAll, services, stored, post } = gateway;
	const full = new AiError("storageFull", "The account's queue is full: it has at most 3 items", {
		retryAfter: 60,
	});
	const { enqueue } = services.storage.queue;
	const calls = await creations();
	services.storage.queue.enqueue = async () => {
		throw full;
	};
	for (const [path, body] of calls) {
		const [status, seconds, error] = await refusal(path, body);
		expect([path, status, seconds]).toEqual([path, 413, 60]);
		expect(error).toMatchObject(errorOf(path, /queue is full/));
		expect([path, await open(), await stored()]).toEqual([path, 0, 1]);
	}
	// There is room again.
	services.storage.queue.enqueue = enqueue;
	for (const [path, body] of calls) {
		expect([path, (await post(path, body)).status]).toEqual([path, 200]);
		await runAll();
		expect([path, await open()]).toEqual([path, 0]);
	}
	expect(await services.jobs.usage("local")).toMatchObject({ finishedLines: 4, discardedLines: 0 });
});

it("an account with as many open batches as it may have", async () => {
	const { creations, create, open, refusal, runAll, stored, post } = started({ JOBS: { max_batches: 1 } });
	const calls = await creations();
	await create(jsonLines([chat("a")]));
	const before = await stored();
	for (const [path, body] of calls) {
		const [status, seconds, error] = await refusal(path, body);
		expect([path, status, seconds]).toEqual([path, 413, 60]);
		expect(error).toMatchObject(errorOf(path, /at most 1 batches/));
		expect([path, await open(), await stored()]).toEqual([path, 1, before]);
	}
	await runAll();
	for (const [path, body] of calls) {
		expect([path, (await post(path, body)).status]).toEqual([path, 200]);
		await runAll();
	}
});

it("a full disk", async () => {
	const { creations, open, refusal, runAll, services, stored, post } = started();
	const calls = await creations();
	const { queue } = services.storage;
	const { enqueue } = queue;
	// The queue of the gateway itself, instead of that of the harness, refuses before it stores anything.
	const own: typeof queue = Object.getPrototypeOf(queue);
	queue.enqueue = (items) => own.enqueue(items);
	diskSpace.set({ name: "disk_bytes", used: 2, limit: 1, refused: 0 });
	for (const [path, body] of calls) {
		const [status, seconds, error] = await refusal(path, body);
		expect([path, status, seconds > 0]).toEqual([path, 503, true]);
		expect(error).toMatchObject({ message: expect.stringMatching(/disk/i) });
	}
	diskSpace.set(undefined);
	queue.enqueue = enqueue;
	expect([await open(), await stored()]).toEqual([0, 1]);
	for (const [path, body] of calls) {
		expect([path, (await post(path, body)).status]).toEqual([path, 200]);
		await runAll();
	}
});
