/** A gateway with tokens whose replays the test runs itself, in front of an engine that records what each model is sent. */
import { vi } from "vitest";
import { upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "../gateway/gateway-settings.ts";
import { batchRunner } from "./batch-runner.ts";

export interface Sent {
	model: string;
	messages: { role: string; content: string }[];
	stream?: boolean;
	response_format?: unknown;
	tools?: unknown;
}

/** USD per million tokens: 1.1 in, 2.2 out. */
const PRICES = [
	{ unit: "per M input tokens", neurons: 100_000 },
	{ unit: "per M output tokens", neurons: 200_000 },
];
export const PRICED = { task: "Text Generation", prices: PRICES };

const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: Object.fromEntries(
		["old", "new", "judge"].map((name) => [name, [{ backend: "engine", model: name }]]),
	),
	MODELS: { old: PRICED, new: PRICED, judge: PRICED },
};
export const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };

export const chatReply = (content: string, message: object = {}): Response =>
	Response.json({
		...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "engine-model", usage: USAGE },
		choices: [{ index: 0, message: { role: "assistant", content, ...message }, finish_reason: "stop" }],
	});

export interface Replay {
	id: string;
	status: string;
	logs: { total: number; completed: number; failed: number };
	usage: { neurons: number; neurons_without_discount: number };
	waiting?: { message: string };
}

interface Reply<Result> {
	result: Result;
	errors: { code: number; message: string }[];
	result_info?: { total_count: number };
}

export async function replays(
	answer: (sent: Sent) => Response | Promise<Response>,
	vars: Record<string, unknown> = {},
) {
	const sent: Sent[] = [];
	const engine = upstream(async (request) => {
		const body = await request.json<Sent>();
		sent.push(body);
		return answer(body);
	});
	const gateway = closedGateway({ vars: { ...VARS, ...vars }, fetch: engine.fetch });
	const { account, services, send } = gateway;
	const queued: { account: string; key: string }[] = [];
	services.storage = {
		...services.storage,
		queue: Object.assign(Object.create(services.storage.queue), {
			enqueue: async (item: { account: string; key: string }) => queued.push(item),
			status: async () => undefined,
		}),
	};
	const token = await gateway.createToken(["Workers AI Write"]);
	const path = `/ai-gateway/gateways`;
	const call = async <Result>(
		below: string,
		init: RequestInit = {},
		own = token,
	): Promise<Reply<Result> & { status: number }> => {
		const response = await send(path + below, own, init);
		return { ...(await response.json<Reply<Result>>()), status: response.status };
	};
	/** Sends a request in the gateway `main`, and waits for its log. Returns the log's id. */
	const log = async (route: string, body: object, headers: Record<string, string> = {}): Promise<string> => {
		const { headers: typed, ...init } = json("POST", body);
		const response = await send(route, token, {
			...init,
			headers: { ...(typed as Record<string, string>), "cf-aig-gateway-id": "main", ...headers },
		});
		await response.text();
		const id = response.headers.get("cf-aig-log-id") ?? "";
		await vi.waitFor(
			async () => {
				if (!(await call<object | null>(`/main/logs/${id}`)).result) throw new Error(`There is no log ${id}`);
			},
			{ timeout: 30_000 },
		);
		return id;
	};
	const runOnce = batchRunner(queued, services);
	return {
		...gateway,
		token,
		sent,
		queued,
		call,
		log,
		chat: (content: string, fields: object = {}) =>
			log("/ai/v1/chat/completions", { model: "old", messages: [{ role: "user", content }], ...fields }),
		createGateway: (fields: object) =>
			send(path, ADMIN, json("POST", { id: "main", ...GATEWAY_SETTINGS, ...fields })),
		create: (fields: object = {}, own = token) =>
			call<Replay>("/main/replay", json("POST", { model: "new", ...fields }), own),
		show: async (id: string) => (await call<Replay>(`/main/replay/${id}`)).result,
		results: async (id: string) => (await call<Record<string, never>[]>(`/main/replay/${id}/results`)).result,
		runOnce,
		runAll: async () => {
			for (;;) {
				const milliseconds = await runOnce();
				if (milliseconds === undefined) return;
				await scheduler.wait(Math.min(milliseconds, 50));
			}
		},
		/** What the account paid, in neurons, by outcome. */
		bills: async () =>
			(await services.ledgers.of(account).requests({ limit: 100 })).requests.map(
				({ microNeurons, model, outcome }) => ({ neurons: microNeurons / 1e6, model, outcome }),
			),
	};
}
