/** The time of `wrangler dev` until its first answer, with the plugin's `env.AI` and without an AI binding. */
import { spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { stop } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import type { Context } from "./context.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const POLL_MS = 10;
const GIVE_UP_MS = 60_000;

const PLUGIN = {
	unsafe: {
		bindings: [
			{
				name: "AI",
				type: "ai",
				dev: {
					plugin: { package: join(ROOT, "dist/miniflare/index.js"), name: "ganglion" },
					options: { localEngines: false },
				},
			},
		],
	},
};

/** Every start is cold: only the machine's file cache remains between two starts. */
export async function devStart({ field, rounds }: Context): Promise<Row[]> {
	const times: Record<"without" | "with", number[]> = { without: [], with: [] };
	for (let round = 0; round <= rounds; round++)
		for (const [name, config] of [
			["without", {}],
			["with", PLUGIN],
		] as const) {
			const folder = join(field.folder, `dev-${name}-${round}`);
			const elapsed = await timeToAnswer(folder, config);
			// The first round warms the file cache.
			if (round > 0) times[name].push(elapsed);
		}
	return [
		{
			label: "cold `wrangler dev` with the plugin, above one without",
			measured: spread(times.with.map((time, i) => time - (times.without[i] ?? 0))),
			unit: "ms",
			bar: 1000,
			note: `${spread(times.without).median.toFixed(0)} ms without`,
		},
	];
}

async function timeToAnswer(folder: string, config: object): Promise<number> {
	mkdirSync(folder);
	symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
	writeFileSync(join(folder, "index.js"), 'export default { fetch: () => new Response("ready") };\n');
	writeFileSync(
		join(folder, "wrangler.json"),
		JSON.stringify({ name: "app", main: "index.js", compatibility_date: "2026-11-01", ...config }),
	);
	const port = await freePort();
	const begun = performance.now();
	const child = spawn(process.execPath, [WRANGLER, "dev", "--port", String(port), "--inspector-port", "0"], {
		cwd: folder,
		stdio: "ignore",
		env: { ...process.env, CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false" },
	});
	try {
		for (;;) {
			const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
			if (answer?.ok) return performance.now() - begun;
			if (child.exitCode !== null || performance.now() - begun > GIVE_UP_MS)
				throw new Error(`wrangler dev did not answer in ${folder}`);
			await wait(POLL_MS);
		}
	} finally {
		child.kill("SIGINT");
		await Promise.race([new Promise((resolve) => child.once("exit", resolve)), wait(5_000)]);
		await stop(child);
	}
}
