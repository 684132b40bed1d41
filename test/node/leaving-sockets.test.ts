/**
 * Callers who leave amid an answer of the whole Worker, and how soon the engine's connection closes: over REST under
 * plain workerd, beside a Worker that only passes on, and through what a Worker has for its binding.
 *
 * Before the first byte of an answer workerd notices no caller who leaves over REST; a `signal` that is handed to
 * `env.AI` reaches the engine at any time.
 */
import { resolve } from "node:path";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quantile } from "../../tools/bench/statistics.ts";
import { Engine } from "../../tools/soak/engine.ts";
import { leave, leavingTable } from "../../tools/soak/leaving.ts";
import type { Planned } from "../../tools/soak/plan.ts";
import { describeViolation } from "../../tools/soak/report.ts";
import { settingsOf } from "../../tools/soak/settings.ts";
import { Steps } from "../../tools/soak/steps.ts";
import { startSession } from "./plugin/session.ts";

/** An engine that is not let go writes for 50 s. The soak holds the gateway to 100 ms, on a machine that is idle. */
const NOTICED_MS = 2_000;

describe("a disconnect over REST", () => {
	/** `npm run soak` has more. */
	const TRIES = 10;

	it("cancels the call and bills the delivered tokens, every time, in every dialect", async () => {
		const { results, violations } = await leave(TRIES);
		console.log(leavingTable(results));
		expect(violations.map(describeViolation)).toEqual([]);
		for (const { billed = TRIES, closedAfter, way } of results) {
			expect(billed, way).toBe(TRIES);
			expect(closedAfter.filter(Number.isFinite), way).toHaveLength(TRIES);
			expect(quantile(closedAfter, 0.5), way).toBeLessThanOrEqual(NOTICED_MS);
		}
	});
});

const MODEL = "@cf/meta/llama-3.1-8b-instruct";
const TRIES = 5;
const SLOW_HEADER_MS = 20_000;

interface Case {
	binding: "AI" | "RPC";
	/** What the caller does. */
	how: "cancels" | "aborts" | "aborts before an answer" | "is gone before an answer";
	stream: boolean;
}

const CASES: readonly Case[] = [
	{ binding: "AI", how: "cancels", stream: true },
	{ binding: "AI", how: "aborts", stream: true },
	{ binding: "AI", how: "aborts before an answer", stream: true },
	{ binding: "AI", how: "aborts before an answer", stream: false },
	{ binding: "RPC", how: "cancels", stream: true },
	{ binding: "RPC", how: "is gone before an answer", stream: true },
	{ binding: "RPC", how: "is gone before an answer", stream: false },
];

/** Asks as it is told, and leaves when it has three tokens, or after a while. One that is gone is a request whose own caller has left. */
const SCRIPT = `export default {
	async fetch(request, env, context) {
		const { binding, how, inputs, withSignal } = await request.json();
		if (how === "is asked") return new Response(await env[binding].run("${MODEL}", inputs));
		const leaving = new AbortController();
		let leftAt, thrown;
		const leave = () => { leftAt = Date.now(); leaving.abort(); };
		try {
			if (how.endsWith("before an answer")) scheduler.wait(200).then(leave);
			if (how.startsWith("is gone")) {
				const body = JSON.stringify({ binding, how: "is asked", inputs });
				const asked = { method: "POST", body, signal: leaving.signal };
				await context.exports.default.fetch(new Request("http://x/", asked));
			}
			const signal = withSignal ? { signal: leaving.signal } : {};
			const reader = (await env[binding].run("${MODEL}", inputs, signal)).getReader();
			const decoder = new TextDecoder();
			let text = "";
			while ((text.match(/t\\d{4}x/g) ?? []).length < 3) text += decoder.decode((await reader.read()).value);
			leave();
			if (how === "cancels") await reader.cancel();
			else while (!(await reader.read()).done);
		} catch (error) {
			thrown = String(error);
		}
		return Response.json({ leftAt, thrown });
	},
}`;

interface Told {
	leftAt?: number;
	thrown?: string;
}

describe("a disconnect through a binding of the plugin", () => {
	const steps = new Steps();
	const plan = CASES.flatMap(({ how, stream }, number) =>
		Array.from({ length: TRIES }, (_, i): Planned => {
			const early = how.endsWith("before an answer");
			return endless(number * TRIES + i, stream, early ? SLOW_HEADER_MS : 0);
		}),
	);
	const refused = plan.length;
	const engine = new Engine([...plan, endless(refused, true, 0)], steps);
	let miniflare: Miniflare;
	beforeAll(async () => {
		const { BACKENDS, MODELS, ROUTES } = settingsOf(await engine.listen(), 0, { holdMs: 60_000 });
		// The plugin's own account is open, and an engine may take its time.
		const patient = Object.entries(BACKENDS as object).map(([name, { timeouts: _, ...rest }]) => [
			name,
			rest,
		]);
		const options = { BACKENDS: Object.fromEntries(patient), MODELS, ROUTES };
		miniflare = startSession(resolve("dist/miniflare/index.js"), {
			main: { bindings: { AI: options }, services: { RPC: options }, script: SCRIPT },
		});
		await miniflare.ready;
	});
	afterAll(async () => {
		await miniflare?.dispose();
		engine.close();
	});

	const asking = async (
		{ binding, how, stream }: Case,
		index: number,
		withSignal: boolean,
	): Promise<Told> => {
		const inputs = { prompt: `soak-${index}- Go on.`, stream };
		const body = JSON.stringify({ binding, how, inputs, withSignal });
		return (await (await miniflare.dispatchFetch("http://x/", { method: "POST", body })).json()) as Told;
	};

	it.each(CASES.map((each, number) => ({ ...each, number })))(
		"$binding: a caller that $how (stream: $stream) cancels the engine's call",
		async ({ number, ...each }) => {
			const times: number[] = [];
			for (let i = 0; i < TRIES; i++) {
				const index = number * TRIES + i;
				const { leftAt = Number.NaN, thrown } = await asking(each, index, each.how !== "cancels");
				expect(thrown).toBe(each.how === "cancels" ? undefined : "AbortError: The operation was aborted");
				await expect.poll(() => engine.callsOf(index)[0]?.closedAt, { interval: 2 }).toBeDefined();
				const [call] = engine.callsOf(index);
				expect(call?.abandoned).toBe(true);
				times.push(performance.timeOrigin + (call?.closedAt ?? Number.NaN) - leftAt);
			}
			console.log(
				`${each.binding} ${each.how}: p50 ${quantile(times, 0.5).toFixed(1)} ms, max ${quantile(times, 1).toFixed(1)} ms`,
			);
			expect(quantile(times, 0.5)).toBeLessThanOrEqual(NOTICED_MS);
		},
	);

	it("RPC: the runtime refuses a signal, so no engine is called", async () => {
		const told = await asking({ binding: "RPC", how: "aborts", stream: true }, refused, true);
		expect(told).toEqual({ thrown: "DataCloneError: AbortSignal serialization is not enabled." });
		expect(engine.callsOf(refused)).toEqual([]);
	});
});

const endless = (index: number, stream: boolean, headerMs: number): Planned => ({
	index,
	account: "roomy",
	credential: "operator",
	api: "native",
	stream,
	prompt: "",
	promptTokens: 7,
	cachedTokens: 0,
	outputEvents: 5_000,
	tokensPerEvent: 1,
	usage: "end",
	headerMs,
	paceMs: 10,
	burst: 1,
	leaving: { when: "never" },
});
