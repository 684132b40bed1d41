/** Batches whose token loses its rights while they run: in all APIs the lines that run are answered, and the others refused. */
import { expect, it } from "vitest";
import type { WorkRun } from "../../../src/storage/queue/work.ts";
import { batchWork } from "../../../src/surfaces/jobs/batch-work.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json, tokenBody } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const LINES = ["a", "b", "c", "d", "e", "f"];
/** Lines at the same time. These are answered. */
const CONCURRENCY = 2;
/** Different ones, because equal requests may share an answer. */
const messages = (content: string) => [{ role: "user", content }];
const RUN = ["Workers AI Run"];

type Send = (path: string, token?: string, init?: RequestInit) => Promise<Response>;

interface Created {
	/** Of the batch, with the operator's token. */
	results(): Promise<unknown[]>;
}

const reader =
	(send: Send) =>
	async (path: string): Promise<Response> =>
		send(path, ADMIN);

const linesOf = async (response: Response): Promise<unknown[]> =>
	(await response.text())
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));

async function openAi(send: Send, token: string): Promise<Created> {
	const form = new FormData();
	form.set("purpose", "batch");
	const lines = LINES.map((custom_id) => ({
		...{ custom_id, method: "POST", url: "/v1/chat/completions" },
		body: { model: LLAMA, messages: messages(custom_id) },
	}));
	form.set("file", new File([lines.map((line) => JSON.stringify(line)).join("\n")], "requests.jsonl"));
	const { id: input_file_id } = await (
		await send("/ai/v1/files", token, { method: "POST", body: form })
	).json<{ id: string }>();
	const fields = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
	const { id } = await (await send("/ai/v1/batches", token, json("POST", fields))).json<{ id: string }>();
	return {
		async results() {
			const batch = await (await reader(send)(`/ai/v1/batches/${id}`)).json<Record<string, string>>();
			expect(batch).toMatchObject({
				status: "completed",
				request_counts: { total: 6, completed: 2, failed: 4 },
			});
			const files = [batch.output_file_id, batch.error_file_id].map(async (file) =>
				linesOf(await reader(send)(`/ai/v1/files/${file}/content`)),
			);
			return (await Promise.all(files)).flat();
		},
	};
}

async function anthropic(send: Send, token: string): Promise<Created> {
	const requests = LINES.map((custom_id) => ({
		custom_id,
		params: { model: LLAMA, max_tokens: 8, messages: messages(custom_id) },
	}));
	const body = { requests };
	const { id } = await (await send("/ai/v1/messages/batches", token, json("POST", body))).json<{
		id: string;
	}>();
	return {
		async results() {
			const path = `/ai/v1/messages/batches/${id}`;
			expect(await (await reader(send)(path)).json()).toMatchObject({
				processing_status: "ended",
				request_counts: { processing: 0, succeeded: 2, errored: 4, canceled: 0, expired: 0 },
			});
			return linesOf(await reader(send)(`${path}/results`));
		},
	};
}

async function gemini(send: Send, token: string): Promise<Created> {
	const requests = LINES.map((text) => ({ request: { contents: [{ parts: [{ text }] }] } }));
	const body = { batch: { inputConfig: { requests: { requests } } } };
	const path = `/ai/v1beta/models/${LLAMA}:batchGenerateContent`;
	const { name } = await (await send(path, token, json("POST", body))).json<{ name: string }>();
	return {
		async results() {
			const { metadata } = await (await reader(send)(`/ai/v1beta/${name}`)).json<{
				metadata: { state: string; output: { inlinedResponses: { inlinedResponses: unknown[] } } };
			}>();
			expect(metadata.state).toBe("BATCH_STATE_SUCCEEDED");
			return metadata.output.inlinedResponses.inlinedResponses;
		},
	};
}

async function workersAi(send: Send, token: string): Promise<Created> {
	const path = `/ai/run/${LLAMA}?queueRequest=true`;
	const body = { requests: LINES.map((prompt) => ({ prompt })) };
	const { result } = await (await send(path, token, json("POST", body))).json<{
		result: { request_id: string };
	}>();
	return {
		async results() {
			const sent = json("POST", { request_id: result.request_id });
			return (await (await send(path, ADMIN, sent)).json<{ result: { responses: unknown[] } }>()).result
				.responses;
		},
	};
}

/** The results in the formats of OpenAI, Anthropic, Google and Workers AI. */
const APIS = {
	openai: {
		create: openAi,
		answered: { response: { status_code: 200 }, error: null },
		refused: (status: 401 | 403) => ({
			response: {
				status_code: status,
				body: {
					error: {
						type: status === 401 ? "authentication_error" : "permission_error",
						message: expect.any(String),
					},
				},
			},
			error: null,
		}),
	},
	anthropic: {
		create: anthropic,
		answered: { result: { type: "succeeded" } },
		refused: (status: 401 | 403) => ({
			result: {
				type: "errored",
				error: {
					type: "error",
					error: { type: status === 401 ? "authentication_error" : "permission_error" },
				},
			},
		}),
	},
	gemini: {
		create: gemini,
		answered: { response: { candidates: [{}] } },
		// UNAUTHENTICATED and PERMISSION_DENIED of gRPC.
		refused: (status: 401 | 403) => ({ error: { code: status === 401 ? 16 : 7 } }),
	},
	"workers-ai": {
		create: workersAi,
		answered: { success: true },
		refused: () => ({ success: false, error: { code: 10000 } }),
	},
} as const;

/** What becomes of the token, and the status of its requests then. */
const LOSSES: Record<
	string,
	{ status: 401 | 403; lose(send: Send, id: string, account: string): Promise<void> }
> = {
	"is deleted": {
		status: 401,
		lose: async (send, id) => void (await send(`/tokens/${id}`, ADMIN, { method: "DELETE" })),
	},
	"is disabled": {
		status: 401,
		lose: async (send, id, account) =>
			void (await send(
				`/tokens/${id}`,
				ADMIN,
				json("PUT", { ...tokenBody(account, RUN), status: "disabled" }),
			)),
	},
	expires: {
		status: 401,
		async lose(send, id, account) {
			const end = Math.ceil(Date.now() / 1_000) * 1_000 + 1_000;
			const expires_on = new Date(end).toISOString().replace(".000Z", "Z");
			await send(`/tokens/${id}`, ADMIN, json("PUT", { ...tokenBody(account, RUN), expires_on }));
			await scheduler.wait(end - Date.now() + 50);
		},
	},
	"may run models no more": {
		status: 403,
		lose: async (send, id, account) =>
			void (await send(
				`/tokens/${id}`,
				ADMIN,
				json("PUT", tokenBody(account, ["Account API Tokens Write"])),
			)),
	},
};

/** Every API with a loss of each status, because each API writes its own refusals. One API with every loss: the check of the token knows no API. */
const CASES = Object.keys(APIS).flatMap((api) =>
	Object.keys(LOSSES)
		.filter((loss) => api === "openai" || loss === "is deleted" || LOSSES[loss]?.status === 403)
		.map((loss) => ({ api, loss })),
);

it.each(CASES)(
	"a batch of $api whose token $loss answers what runs, and refuses the rest",
	async ({ api, loss }) => {
		const { create, answered, refused } = APIS[api as keyof typeof APIS];
		const { lose, status } = LOSSES[loss] ?? { lose: async () => {}, status: 401 };
		let isLost: Promise<void> | undefined;
		let calls = 0;
		const { fetch } = upstream(async () => {
			if (++calls >= CONCURRENCY) isLost ??= lose(gateway.send, id, gateway.account);
			// Both answers come after the loss.
			for (let waits = 0; !isLost && waits < 500; waits++) await scheduler.wait(5);
			await isLost;
			return Response.json(completion("Hello"));
		});
		const gateway = closedGateway({ vars: { ...ENGINE_VARS, JOBS: { concurrency: CONCURRENCY } }, fetch });
		const { services, send } = gateway;
		const queued: { account: string; key: string }[] = [];
		services.storage = {
			...services.storage,
			queue: Object.assign(Object.create(services.storage.queue), {
				enqueue: async (item: { account: string; key: string }) => queued.push(item),
				status: async () => undefined,
			}),
		};
		const made = await send("/tokens", ADMIN, json("POST", tokenBody(gateway.account, RUN)));
		const {
			result: { id, value },
		} = await made.json<{ result: { id: string; value: string } }>();
		const batch = await create(send, value);
		const { account = "", key = "" } = queued[0] ?? {};
		const signal = new AbortController().signal;
		const run: WorkRun = {
			...{ account, key, kind: "batches", payload: undefined, attempt: 1, fence: 1, signal },
			progress: () => {},
		};
		await batchWork(services).run(run);
		const results = await batch.results();
		const isAnswered = results.map((result) => {
			try {
				expect(result).toMatchObject(answered);
				return true;
			} catch {
				expect(result).toMatchObject(refused(status));
				return false;
			}
		});
		expect(isAnswered.filter(Boolean)).toHaveLength(CONCURRENCY);
		expect(isAnswered).toHaveLength(LINES.length);
		expect(calls).toBe(CONCURRENCY);
		// The account pays for the answers, each once.
		const { requests } = await services.ledgers.of(account).requests({});
		expect(requests).toHaveLength(CONCURRENCY);
		expect(new Set(requests.map(({ microNeurons }) => microNeurons > 0))).toEqual(new Set([true]));
	},
);
