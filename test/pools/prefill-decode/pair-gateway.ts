/** A gateway in front of a cluster of prefill and decode engines, with everything that it settles. */
import { createApp } from "../../../src/app.ts";
import { IsolateHealth } from "../../../src/fleet/health.ts";
import type { ExchangeObserver, SettledExchange } from "../../../src/telemetry/exchange-observer.ts";
import { BASE, OPEN_ACCESS, testServices } from "../../gateway.ts";
import { Cluster, type ClusterOptions } from "./cluster.ts";

export const MODEL = "pair/chat";
export const LONG = "A long prompt. ".repeat(300);

export interface PairOptions extends ClusterOptions {
	hosts?: string[];
	settings?: object;
	route?: object;
	timeouts?: object;
	wait?: (ms: number) => Promise<void>;
}

export function gatewayOf({
	hosts = ["p1", "p2", "d1", "d2"],
	settings = {},
	route = {},
	timeouts = {},
	wait,
	...options
}: PairOptions) {
	const cluster = new Cluster(options);
	const roles: Record<string, string> = { p: "prefill", d: "decode", b: "both" };
	const replicas = hosts.map((host) => ({ url: `http://${host}:8000/v1`, role: roles[host.slice(0, 1)] }));
	const vars = {
		BACKENDS: {
			pair: {
				kind: "openai",
				timeouts,
				pool: { replicas, disaggregation: { protocol: options.protocol, ...settings } },
			},
		},
		ROUTES: {
			[MODEL]: { targets: [{ backend: "pair", model: "m" }], ...route },
			"@cf/*": [{ backend: "pair" }],
		},
		MODELS: {
			[MODEL]: {
				task: "Text Generation",
				prices: [
					{ unit: "per M input tokens", neurons: 1_000_000 },
					{ unit: "per M cached input tokens", neurons: 100_000 },
					{ unit: "per M output tokens", neurons: 2_000_000 },
				],
			},
		},
	};
	const persistent = testServices({ vars, fetch: cluster.fetch });
	const { now = persistent.now } = options;
	// The circuits of other tests are not shared with this one.
	const health = new IsolateHealth({ now, waitUntil: () => {} });
	const services = { ...persistent, now, health, ...(wait && { wait }) };
	const settled: SettledExchange["settlement"][] = [];
	const observer: ExchangeObserver = { settled: (_, { settlement }) => void settled.push(settlement) };
	const app = createApp({ ...services, observers: [...services.observers, observer] }, OPEN_ACCESS);
	const post = (path: string, body: object, init: RequestInit = {}) =>
		app.request(`${BASE}${path}`, {
			method: "POST",
			body: JSON.stringify(body),
			...init,
			headers: { "content-type": "application/json", ...init.headers },
		});
	const chat = (body: object = {}, init: RequestInit = {}) =>
		post(
			"/v1/chat/completions",
			{ model: MODEL, messages: [{ role: "user", content: LONG }], ...body },
			init,
		);
	const stages = () => services.pools.reports(0)[0]?.stages;
	const pairs = () => services.pools.reports(0)[0]?.pairs;
	return { chat, cluster, pairs, post, services, settled, stages };
}

const IDLE = { requests: 0, prefillTokens: 0, decodeTokens: 0 };
export const ALL_IDLE = { prefill: IDLE, decode: IDLE };

export interface Streamed {
	text: string;
	usage: unknown;
	error: unknown;
	done: boolean;
}

/** The chunks of a chat stream. */
export function readStream(sent: string): Streamed {
	const data = [...sent.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => json);
	const chunks = data.filter((json) => json !== "[DONE]").map((json) => JSON.parse(json));
	return {
		text: chunks.map(({ choices }) => choices?.[0]?.delta.content ?? "").join(""),
		usage: chunks.findLast(({ usage }) => usage)?.usage,
		error: chunks.find(({ error }) => error)?.error,
		done: data.at(-1) === "[DONE]",
	};
}
