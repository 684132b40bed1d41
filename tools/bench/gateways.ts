/** Gateways: an answer of the cache, the cost of logs, and a page of a log with a million rows. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { serve } from "../../scripts/workerd.ts";
import { wrapped } from "../soak/gateway.ts";
import { BUILT, type Contender } from "./contenders.ts";
import { CHAT, type Context } from "./context.ts";
import type { Ask } from "./load.ts";
import { against, cpuRatios, noteOf, withBoth } from "./ratios.ts";
import { exactly, spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { ADMIN_TOKEN } from "./token.ts";

const LOG_ROWS = 1_000_000;
/** Rows of one request that fills the log. */
const FILLED_AT_ONCE = 10_000;
const REPEATS = 20;

export const CACHED = {
	"cf-aig-gateway-id": "default",
	"cf-aig-cache-key": "bench",
	"cf-aig-cache-ttl": "86400",
};
export const LOGGED = {
	"cf-aig-gateway-id": "default",
	"cf-aig-metadata": JSON.stringify({ user: "u-1234", team: "search", paid: true }),
};
const UNLOGGED = { "cf-aig-gateway-id": "default", "cf-aig-collect-log": "false" };

export const withHeaders = (request: Ask, headers: Record<string, string>): Ask => ({
	...request,
	headers: { ...request.headers, ...headers },
});

export async function gateways(context: Context): Promise<Row[]> {
	const json = (contender: Contender): Ask => contender.ask("json", CHAT);
	const hits = await against(context, {
		label: "an answer of a gateway's cache: CPU a request / floor",
		ask: (contender) =>
			contender.name === "ganglion" ? withHeaders(json(contender), CACHED) : json(contender),
		bar: 0.9,
	});
	const rows: Row[] = [];
	for (const [label, headers, bar] of [
		["a gateway's log with contents and metadata, over the same gateway without", UNLOGGED, 1.15],
		["a gateway with a log and metadata, over no gateway", {}, undefined],
	] as const) {
		const ratios = await withBoth(context, ["ganglion", "ganglion"], (pair) =>
			cpuRatios(context, pair, (contender) =>
				withHeaders(json(contender), contender === pair[0] ? LOGGED : headers),
			),
		);
		rows.push({
			label: `what it costs: ${label}`,
			measured: spread(ratios.map(({ ratio }) => ratio)),
			unit: "x",
			...(bar !== undefined && { bar }),
			note: noteOf(ratios),
		});
	}
	return [...hits, ...rows];
}

const filter = (key: string, value: unknown, operator = "eq") =>
	`filters=${encodeURIComponent(JSON.stringify([{ key, operator, value: [value] }]))}`;

/** Pages that an index answers, and pages that read rows until they have enough. One row in 100,000 has a status of 500. */
const PAGES = {
	"the newest 50": "",
	"of a model": filter("model", "@cf/bench/rare"),
	failures: filter("success", false),
	"of a value of metadata": filter("metadata.value", "u-77"),
	"of an hour": filter("created_at", "2026-11-01T10:00:00Z", "lt"),
	"the 20,000th page": "page=20000",
	"ordered by the provider": "order_by=provider",
} as const;

/** Milliseconds from the request for a page to its end. */
export async function logPages({ field, say }: Context): Promise<Row[]> {
	const folder = join(field.folder, "log-pages");
	mkdirSync(folder);
	const served = await serve(
		{
			name: "ganglion",
			modules: await wrapped(BUILT, folder, join(import.meta.dirname, "log-filler.ts")),
			vars: { ADMIN_TOKEN, DEFAULT_BACKEND: "simulator" },
			...runtimeSettings(),
		},
		await freePort(),
		folder,
	);
	try {
		const begun = performance.now();
		for (let from = 0; from < LOG_ROWS; from += FILLED_AT_ONCE) {
			const filled = await fetch(`${served.url}/fill?from=${from}&rows=${FILLED_AT_ONCE}`, {
				method: "POST",
			});
			if (!filled.ok) throw new Error(`HTTP ${filled.status}`);
			if (from % (LOG_ROWS / 10) === 0)
				say(`  ${from} rows after ${Math.round(performance.now() - begun)} ms`);
		}
		const rows: Row[] = [];
		for (const [label, query] of Object.entries(PAGES)) {
			const times: number[] = [];
			for (let count = 0; count < REPEATS; count++) {
				const startedAt = performance.now();
				const found = await page(served.url, `per_page=50&${query}`);
				times.push(performance.now() - startedAt);
				if (found === 0) throw new Error(`the page "${label}" is empty`);
			}
			rows.push({
				label: `a page of 50 in a gateway's log of ${LOG_ROWS.toLocaleString("en-US")} rows: ${label}`,
				measured: spread(times),
				unit: "ms",
				...(!query.startsWith("page=") && { bar: 50 }),
				note: `first ${exactly(times[0] ?? 0).median.toFixed(1)} ms`,
			});
		}
		return rows;
	} finally {
		await served.stop();
	}
}

/** Returns the number of rows. */
async function page(origin: string, query: string): Promise<number> {
	const path = `${origin}/client/v4/accounts/bench/ai-gateway/gateways/default/logs?${query}`;
	const response = await fetch(path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
	if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
	const { result } = (await response.json()) as { result: unknown[] };
	return result.length;
}
