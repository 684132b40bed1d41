import { describe, expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";
import type { ConfigError } from "../../src/config/problems.ts";

/** Which pattern's model answers. */
function served(patterns: readonly string[], id: string): string | undefined {
	const ROUTES = Object.fromEntries(
		patterns.map((pattern, i) => [pattern, [{ backend: "simulator", model: `#${i}` }]]),
	);
	const model = configure({ ROUTES }).routing.find(id)?.targets[0]?.model;
	return model === undefined ? undefined : patterns[Number(model.slice(1))];
}

describe("RouteTable", () => {
	it.each([
		["an exact id before any pattern", ["*", "@cf/meta/*", "@cf/meta/x"], "@cf/meta/x", "@cf/meta/x"],
		["the longest literal part", ["*", "@cf/*", "@cf/meta/*"], "@cf/meta/x", "@cf/meta/*"],
		["wherever the stars are", ["@cf/*", "*-instruct-fp8"], "@cf/meta/llama-instruct-fp8", "*-instruct-fp8"],
		["of two as long, the first written", ["b*", "*a", "a*"], "aa", "*a"],
		["everything by a lone star", ["@cf/*", "*"], "llama3.2", "*"],
		["nothing where nothing fits", ["@cf/*"], "@hf/x", undefined],
	])("takes %s", (_, patterns, id, expected) => {
		expect(served(patterns, id)).toBe(expected);
	});

	it("remembers what it found, of as many models as there are, and of no id that is no model's", () => {
		const { routing } = configure({ ROUTES: { "*": [{ backend: "simulator" }] } });
		const found = routing.find("first");
		expect(routing.find("first")).toBe(found);
		const long = "x".repeat(257);
		expect(routing.find(long)).not.toBe(routing.find(long));
		for (let i = 0; i < 1_000; i++) routing.find(`model-${i}`);
		expect(routing.find("first")).not.toBe(found);
		expect(routing.find("first")).toEqual(found);
	});

	it("shares the observations of a backend among its targets", () => {
		const { routing } = configure({
			BACKENDS: { vllm: { kind: "openai", url: "http://vllm.test/v1" } },
			ROUTES: { a: [{ backend: "vllm", model: "a" }], b: [{ backend: "vllm", model: "b" }] },
		});
		const [a, b] = ["a", "b"].map((model) => routing.find(model)?.targets[0]?.observed);
		expect(a).toEqual({});
		expect(b).toBe(a);
	});

	it("calls every target of a route, in order, with the caller's model if none is named", () => {
		const { routing } = configure({
			ROUTES: { "@cf/*": [{ backend: "simulator", model: "big" }, { backend: "simulator" }] },
		});
		expect(routing.find("@cf/meta/x")?.targets.map(({ model }) => model)).toEqual(["big", "@cf/meta/x"]);
	});

	it("shows where the engine gets the model name of the caller", () => {
		const { routing } = configure({
			ROUTES: {
				"@cf/*": [{ backend: "simulator", model: "big" }, { backend: "simulator" }],
				exact: [{ backend: "simulator" }],
			},
			PROVIDER_KEYS: { openai: "KEY" },
			KEY: "sk-a",
			DEFAULT_BACKEND: "simulator",
		});
		const any = (id: string) => routing.find(id)?.targets.map(({ anyModel }) => anyModel);
		expect(any("@cf/x")).toEqual([undefined, true]);
		expect(any("exact")).toEqual([undefined]);
		expect(any("openai/x")).toEqual([true]);
		expect(any("whatever")).toEqual([true]);
	});

	it("takes timeouts from the target, else from its route, else from its backend; the total is the route's", () => {
		const { routing } = configure({
			BACKENDS: {
				a: { kind: "openai", url: "http://a/v1", timeouts: { header_ms: 1, idle_ms: 2, total_ms: 3 } },
			},
			ROUTES: {
				m: {
					targets: [{ backend: "a", timeouts: { first_token_ms: 30 } }, { backend: "simulator" }],
					timeouts: { header_ms: 10, first_token_ms: 20, total_ms: 40 },
				},
				plain: [{ backend: "a" }],
			},
		});
		expect(routing.find("m")?.targets.map(({ timeouts }) => timeouts)).toEqual([
			{ headerMs: 10, firstTokenMs: 30, idleMs: 2, totalMs: 3 },
			{ headerMs: 10, firstTokenMs: 20, idleMs: 60_000, totalMs: 600_000 },
		]);
		expect(routing.find("m")?.settings).toEqual({ totalMs: 40 });
		expect(routing.find("plain")?.targets[0]?.timeouts).toEqual({ headerMs: 1, idleMs: 2, totalMs: 3 });
		expect(routing.find("plain")).not.toHaveProperty("settings");
	});

	it("reads retries, hedging and stickiness", () => {
		const { routing } = configure({
			ROUTES: {
				m: {
					targets: [{ backend: "simulator" }],
					retries: { attempts: 3 },
					hedge_ms: 800,
					coalesce_ms: 24,
					sticky: "session",
				},
			},
		});
		expect(routing.find("m")?.settings).toEqual({
			retries: { attempts: 3, baseMs: 250, maxMs: 5000 },
			hedgeMs: 800,
			coalesceMs: 24,
			sticky: "session",
		});
	});

	it("reads that streams are to be passed on as they are, by engines of OpenAI's dialect alone", () => {
		const BACKENDS = {
			vllm: { kind: "openai", url: "http://vllm/v1" },
			claude: { kind: "anthropic", key: "KEY" },
		};
		const configured = (route: object) => configure({ BACKENDS, KEY: "k", ROUTES: { m: route } }).routing;
		const vllm = { backend: "vllm" };
		expect(configured({ targets: [vllm], passthrough: true }).find("m")?.settings).toEqual({
			passthrough: true,
		});
		expect(configured({ targets: [vllm], passthrough: false }).find("m")?.settings).toEqual({
			passthrough: false,
		});
		expect(configured({ targets: [vllm] }).find("m")?.settings).toEqual({});
		const problemsOf = (route: object): unknown => {
			try {
				return configured(route);
			} catch (error) {
				return (error as ConfigError).problems;
			}
		};
		const targets = [vllm, { backend: "claude" }, { backend: "simulator" }];
		const kind = 'expected a backend of kind "openai" with "passthrough": true, found one of kind';
		expect(problemsOf({ targets, passthrough: true })).toEqual([
			`ROUTES.m.targets[1].backend: ${kind} "anthropic"`,
			`ROUTES.m.targets[2].backend: ${kind} "simulator"`,
		]);
		expect(problemsOf({ targets: [vllm], passthrough: true, hedge_ms: 5 })).toEqual([
			'ROUTES.m.hedge_ms: is not possible with "passthrough": true: remove one of the two',
		]);
	});

	it("is strict if only the simulator or Workers AI serves a model, unless the route sets it", () => {
		const { routing } = configure({
			BACKENDS: {
				vllm: { kind: "openai", url: "http://vllm/v1" },
				hosted: { kind: "workers-ai", url: "https://cloudflare.example/ai", key: "KEY" },
			},
			KEY: "k",
			DEFAULT_BACKEND: "simulator",
			ROUTES: {
				product: [{ backend: "simulator" }, { backend: "hosted" }],
				engine: [{ backend: "vllm" }],
				mixed: [{ backend: "simulator" }, { backend: "vllm" }],
				loose: { targets: [{ backend: "simulator" }], strict: false },
				tight: { targets: [{ backend: "vllm" }], strict: true },
			},
		});
		const strictOf = (id: string) => routing.find(id)?.strict;
		expect(["product", "engine", "mixed", "loose", "tight", "other"].map(strictOf)).toEqual([
			true,
			false,
			false,
			false,
			true,
			true,
		]);
		expect(routing.find("loose")?.settings).toEqual({});
		const own = { BACKENDS: { vllm: { kind: "openai", url: "http://vllm/v1" } }, DEFAULT_BACKEND: "vllm" };
		expect(configure(own).routing.find("other")?.strict).toBe(false);
	});

	it("has the continuation of each kind of engine, unless the route sets it", () => {
		const BACKENDS = {
			vllm: { kind: "openai", url: "http://vllm/v1" },
			claude: { kind: "anthropic", key: "KEY" },
		};
		const m = [
			{ backend: "vllm", continues: true },
			{ backend: "claude", continues: true },
			{ backend: "vllm", continues: "prefill" },
			{ backend: "vllm", continues: false },
			{ backend: "vllm" },
		];
		const { routing } = configure({ BACKENDS, KEY: "k", ROUTES: { m } });
		expect(routing.find("m")?.targets.map(({ continues }) => continues)).toEqual([
			"vllm",
			"prefill",
			"prefill",
			false,
			undefined,
		]);
	});

	it("reads the adapters that callers may name", () => {
		const loras = ["ada", "acme/*"];
		const { routing } = configure({ ROUTES: { m: [{ backend: "simulator", loras }] } });
		expect(routing.find("m")?.targets[0]?.loras).toEqual(loras);
	});

	it("finds no route by a name that objects inherit", () => {
		expect(configure({}).routing.find("constructor")).toBeUndefined();
	});
});
