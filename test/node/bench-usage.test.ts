/** The streams with the usage of several engines, as the engine of the bench sends them, and the settings that reach them. */
import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { listening } from "../../scripts/workerd.ts";
import { configure } from "../../src/config/index.ts";
import { settingsOfShapes } from "../../tools/bench/usage-shapes.ts";

let engine: ChildProcess;
let url = "";
beforeAll(async () => {
	const port = await freePort();
	engine = spawn(process.execPath, ["tools/bench/upstream.ts", String(port)], { stdio: "inherit" });
	url = `http://127.0.0.1:${port}`;
	await listening({ port }, engine);
});
afterAll(() => void engine.kill());

interface Chunk {
	model: string;
	choices: { delta: { content?: string } }[];
	usage?: Record<string, unknown> | null;
	timings?: Record<string, unknown>;
}

async function chunksAt(address: string): Promise<Chunk[]> {
	const text = await (await fetch(`${address}/chat/completions`, { method: "POST", body: "{}" })).text();
	const lines = text.split("\n\n").filter(Boolean);
	expect(lines.at(-1)).toBe("data: [DONE]");
	return lines.slice(0, -1).map((line) => JSON.parse(line.slice("data: ".length)) as Chunk);
}

const COUNTS = { prompt_tokens: 20, completion_tokens: 200, total_tokens: 220 };
/** The usage of the last chunk. */
const USAGES: Record<string, object> = {
	plain: COUNTS,
	cached: {
		...COUNTS,
		prompt_tokens_details: { cached_tokens: 16, audio_tokens: 0 },
		completion_tokens_details: { reasoning_tokens: 0 },
	},
	null: { ...COUNTS, prompt_tokens_details: null },
	reasoning: { ...COUNTS, completion_tokens_details: { reasoning_tokens: 120 } },
	timings: { ...COUNTS, prompt_tokens_details: { cached_tokens: 16 } },
	hits: { ...COUNTS, prompt_cache_hit_tokens: 16, prompt_cache_miss_tokens: 4 },
	choices: COUNTS,
	continuous: COUNTS,
};

describe("a stream of the engine of the bench", () => {
	it.concurrent.each(Object.entries(USAGES))("has the usage of the form %s", async (shape, usage) => {
		const chunks = await chunksAt(`${url}/usage/keyed/${shape}/1/v1`);
		expect(chunks).toHaveLength(203);
		expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set([`keyed/${shape}`]));
		const last = chunks.at(-1);
		expect(last?.usage).toEqual(usage);
		expect(last?.choices).toHaveLength(shape === "choices" ? 1 : 0);
		expect(last?.timings).toEqual(shape === "timings" ? expect.objectContaining({ cache_n: 16 }) : undefined);
		expect(chunks.filter((chunk) => chunk.usage)).toHaveLength(shape === "continuous" ? 203 : 1);
	});
});

it("the settings reach each form by the model's own name, with a key and in a pool", async () => {
	const { backends, routes, secrets } = settingsOfShapes(url);
	const { routing } = configure({ BACKENDS: backends, ROUTES: routes, ...secrets });
	const forms = Object.keys(USAGES).flatMap((shape) => [`keyed/${shape}`, `pooled/${shape}`]);
	expect(Object.keys(routes).sort()).toEqual(forms.sort());
	expect(routing.routes).toHaveLength(forms.length);
	const all = JSON.stringify(backends);
	for (const form of forms) expect(all).toContain(`${url}/usage/${form}/1/v1`);
	expect(JSON.parse(all)["keyed-null"]).toEqual({
		kind: "openai",
		url: `${url}/usage/keyed/null/1/v1`,
		key: "BENCH_ENGINE_KEY",
	});
	expect(JSON.parse(all)["pooled-null"].pool.replicas).toEqual([
		`${url}/usage/pooled/null/1/v1`,
		`${url}/usage/pooled/null/2/v1`,
	]);
});
