/**
 * The built Worker with a route that fills the log of a gateway: `POST /fill?from=…&rows=…`. It imports `dist/worker/index.js` instead of
 * `src/index.ts`.
 */
import { batchOf } from "../../src/gateways/logs/log-batch.ts";
import type { Log } from "../../src/gateways/logs/log-row.ts";
import worker, { Gateway as BuiltGateway } from "../../src/index.ts";

export * from "../../src/index.ts";

const FIRST = Date.parse("2026-11-01T00:00:00Z");
const BETWEEN_MS = 1_000;
const RARE = 100_000;

export class Gateway extends BuiltGateway {
	async fill(from: number, rows: number): Promise<void> {
		const logs = Array.from({ length: rows }, (_, index) => logOf(from + index));
		await this.append(batchOf(logs), { max: Number.MAX_SAFE_INTEGER, strategy: "STOP_INSERTING" });
	}
}

/** A row for each second. */
function logOf(index: number): Log {
	const time = (FIRST + index * BETWEEN_MS).toString(16).padStart(12, "0");
	const isRare = index % RARE === 77;
	const text = JSON.stringify({ prompt: `Question number ${index}`, answer: "Forty-two" });
	return {
		row: {
			id: `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`,
			event_id: null,
			provider: index % 3 === 0 ? "openai" : "workers-ai",
			model: isRare ? "@cf/bench/rare" : `@cf/bench/model-${index % 20}`,
			model_type: "Text Generation",
			path: "v1/chat/completions",
			duration: 100 + (index % 900),
			first_byte: 50,
			request_type: "REST",
			request_content_type: "application/json",
			response_content_type: "application/json",
			status_code: isRare ? 500 : 200,
			success: isRare ? 0 : 1,
			cached: 0,
			tokens_in: index % 1_000,
			tokens_out: index % 300,
			cost: 0.000_01,
			custom_cost: 0,
			step: 0,
			metadata: JSON.stringify({ user: `u-${index % 10_000}`, team: "search" }),
			request_size: text.length,
			response_size: text.length,
			user_agent: "bench",
			dlp_action: null,
			dlp: null,
			guardrails: null,
			byok: 0,
			authentication: 1,
			wholesale: 0,
			compatibility_mode: 0,
			feedback: null,
			score: null,
		},
		request: { text, complete: true },
		response: { text, complete: true },
	};
}

interface Objects {
	GATEWAY: DurableObjectNamespace<Gateway>;
}

export default {
	async fetch(request: Request, env: Objects): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		if (pathname !== "/fill") return worker.fetch(request);
		const number = (name: string): number => Number(searchParams.get(name));
		await env.GATEWAY.getByName("bench/default").fill(number("from"), number("rows"));
		return new Response();
	},
};
