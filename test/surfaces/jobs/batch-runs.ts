/** A gateway whose batches the test runs itself, like a process of the gateway. */
import OpenAI, { toFile } from "openai";
import { BASE, type TestOptions, testGateway } from "../../gateway.ts";
import { batchRunner } from "./batch-runner.ts";

export const MODEL = "gpt-5.6-sol";

export interface Chat {
	custom_id: string;
	method: string;
	url: string;
	body: Record<string, unknown>;
}

export const chat = (id: string, fields: object = {}, rest: object = {}): Chat => ({
	custom_id: id,
	method: "POST",
	url: "/v1/chat/completions",
	body: { model: MODEL, messages: [{ role: "user", content: `Question ${id}` }], ...fields },
	...rest,
});

export const jsonLines = (lines: readonly unknown[]): string =>
	lines.map((line) => `${JSON.stringify(line)}\n`).join("");

export function batches(options: TestOptions) {
	const gateway = testGateway(options);
	const { services } = gateway;
	let uuids = 0;
	const unique = crypto.randomUUID().slice(0, 23);
	services.uuid = () => `${unique}-${String(++uuids).padStart(12, "0")}`;
	services.now = () => Date.now();
	const queued: { account: string; key: string }[] = [];
	services.storage = {
		...services.storage,
		queue: Object.assign(Object.create(services.storage.queue), {
			enqueue: async (item: { account: string; key: string }) => queued.push(item),
			status: async () => undefined,
		}),
	};
	const openai: OpenAI = new OpenAI({
		apiKey: "none",
		baseURL: `${BASE}/v1`,
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: async (url, init) => gateway.app.request(String(url), init),
	});
	const upload = async (content: string | Uint8Array, name = "requests.jsonl") =>
		openai.files.create({ purpose: "batch", file: await toFile(Buffer.from(content as string), name) });
	const lines = async (id: string | null | undefined): Promise<Record<string, never>[]> =>
		id
			? (await (await openai.files.content(id)).text())
					.trimEnd()
					.split("\n")
					.map((line) => JSON.parse(line) as Record<string, never>)
			: [];
	const runOnce = batchRunner(queued, services);
	return {
		...gateway,
		openai,
		queued,
		upload,
		lines,
		runOnce,
		create: async (
			content: string | Uint8Array,
			fields: Partial<OpenAI.BatchCreateParams> = {},
			options: OpenAI.RequestOptions = {},
		) =>
			openai.batches.create(
				{
					input_file_id: (await upload(content)).id,
					endpoint: "/v1/chat/completions",
					completion_window: "24h",
					...fields,
				},
				options,
			),
		/** Runs the latest item until it is complete. */
		runAll: async () => {
			for (;;) {
				const milliseconds = await runOnce();
				if (milliseconds === undefined) return;
				await scheduler.wait(Math.min(milliseconds, 50));
			}
		},
	};
}
