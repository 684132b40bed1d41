/** The events of batches through the runtime's own queues: the producer is the gateway, the consumer a Worker that fails once. */
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isWasm, modulesIn } from "../../miniflare/modules.ts";
import { DIST } from "../../scripts/root.ts";
import { runtimeSettings } from "../../scripts/settings.ts";

const QUEUE = "batch-events";
/** Answers with what it has received, also what it has refused. */
const CONSUMER = `
const received = [];
export default {
	async queue(batch) {
		for (const message of batch.messages) {
			received.push({ queue: batch.queue, attempts: message.attempts, body: message.body });
			if (received.length === 1) message.retry();
			else message.ack();
		}
	},
	fetch: () => Response.json(received),
};`;

interface Received {
	queue: string;
	attempts: number;
	body: { id: string; type: string; account: string; data: { id: string } };
}

let miniflare: Miniflare;
beforeAll(async () => {
	const { compatibilityDate, compatibilityFlags = [], objects = [] } = runtimeSettings();
	const worker = join(DIST, "worker");
	miniflare = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			workers: [
				{
					name: "gateway",
					rootPath: worker,
					modulesRoot: worker,
					modules: modulesIn(worker).map(({ file: path, name }) => ({
						type: isWasm(name) ? ("CompiledWasm" as const) : ("ESModule" as const),
						path,
					})),
					...{ compatibilityDate, compatibilityFlags },
					durableObjects: Object.fromEntries(
						objects.map(({ class_name: className, name }) => [name, { className, useSQLite: true }]),
					),
					bindings: { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" },
					queueProducers: { BATCH_EVENTS: QUEUE },
				},
				{
					name: "consumer",
					modules: true,
					script: CONSUMER,
					compatibilityDate,
					queueConsumers: { [QUEUE]: { maxBatchSize: 1, maxBatchTimeout: 0, maxRetries: 3 } },
				},
			],
		}),
	);
	await miniflare.ready;
});
afterAll(() => miniflare?.dispose());

/** Calls the gateway. */
async function call<Answer>(path: string, init: RequestInit): Promise<Answer> {
	const response = await miniflare.dispatchFetch(`http://localhost${path}`, init as never);
	expect(response.status).toBe(200);
	return (await response.json()) as Answer;
}

const post = (headers: Record<string, string>, body: object): RequestInit => ({
	method: "POST",
	headers: { "content-type": "application/json", ...headers },
	body: JSON.stringify(body),
});

it("each batch that ends is one message, also if its consumer has refused the first", {
	timeout: 60_000,
}, async () => {
	const message = {
		model: "@cf/openai/gpt-oss-20b",
		max_tokens: 8,
		messages: [{ role: "user", content: "Hi" }],
	};
	const anthropic = await call<{ id: string }>(
		"/v1/messages/batches",
		post({ "anthropic-version": "2023-06-01" }, { requests: [{ custom_id: "a", params: message }] }),
	);
	const gemini = await call<{ name: string }>(
		"/v1beta/models/@cf/openai/gpt-oss-20b:batchGenerateContent",
		post(
			{},
			{
				batch: {
					inputConfig: { requests: { requests: [{ request: { contents: [{ parts: [{ text: "Hi" }] }] } }] } },
				},
			},
		),
	);
	const consumer = await miniflare.getWorker("consumer");
	const received = async (): Promise<Received[]> =>
		(await (await consumer.fetch("http://consumer")).json()) as Received[];
	await expect.poll(async () => (await received()).length, { timeout: 50_000, interval: 100 }).toBe(3);
	const all = await received();
	expect(all[0]?.attempts).toBe(1);
	// The refused message comes again, with the same id.
	expect(all.filter(({ body }) => body.id === all[0]?.body.id).map(({ attempts }) => attempts)).toEqual([
		1, 2,
	]);
	const events = new Map(all.map(({ body }) => [body.data.id, body]));
	expect(all.every(({ queue }) => queue === QUEUE)).toBe(true);
	expect(events.get(anthropic.id)).toMatchObject({
		...{
			id: `evt_${anthropic.id}`,
			object: "event",
			type: "batch.completed",
			created_at: expect.any(Number),
		},
		account: expect.any(String),
	});
	expect(events.get(gemini.name)).toMatchObject({ type: "batch.succeeded" });
	expect(events.size).toBe(2);
});
