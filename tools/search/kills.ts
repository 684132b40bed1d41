/**
 * `npm run soak:search`: uploads pages to an instance while its gateway is killed (SIGKILL), and then compares: each page is indexed
 * once and found, there is a vector for each chunk, and each embedding is billed once. Those that were under way at a kill may be billed
 * again; they are shown apart.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/free-port.ts";
import { readOptions } from "../../scripts/options.ts";
import { corpusPages } from "./corpus.ts";
import { SearchInstanceClient } from "./instance.ts";
import { type ServedGateway, serveGateway } from "./serve.ts";

const { pages: pagesText = "1000", kills: killsText = "10" } = readOptions(
	{ pages: { type: "string" }, kills: { type: "string" } },
	`npm run soak:search -- [options]

  --pages N  pages to upload (1000)
  --kills N  SIGKILLs while they are uploaded and indexed (10)`,
);
const pages = corpusPages(Number(pagesText));
const kills = Number(killsText);

const RETRY_MS = 200;
/** Pages that are searched by their name. */
const SEARCHED = 50;
const LISTED = 50;

interface UsageRow {
	requests: number;
}

const account = "local";
const state = mkdtempSync(join(tmpdir(), "ganglion-kills-"));
const port = await freePort();
const gateway = { url: `http://127.0.0.1:${port}`, account };
const instance = new SearchInstanceClient(gateway, "kills");
const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Each request has a row before its engine is called, so that none is lost in a lease. */
const SETTINGS = { LEDGER: "exact" };
let served: ServedGateway = await serveGateway(state, port, SETTINGS);

/** Waits until so many pages are indexed. A gateway that starts does not answer. */
async function until(completed: number): Promise<void> {
	for (;;) {
		const counts = await instance.stats().catch(() => undefined);
		if (counts && counts.completed >= completed) return;
		await wait(RETRY_MS);
	}
}

async function killAll(): Promise<void> {
	for (let kill = 1; kill <= kills; kill++) {
		await until(Math.floor((pages.length * kill) / (kills + 1)));
		await served.stop("SIGKILL");
		served = await serveGateway(state, port, SETTINGS);
		console.log(`kill ${kill} of ${kills}`);
	}
}

async function listedKeys(): Promise<string[]> {
	const keys: string[] = [];
	for (let page = 1; ; page++) {
		const items = await instance.call<{ key: string; status: string }[]>(
			"GET",
			`/ai-search/instances/${instance.id}/items?page=${page}&per_page=${LISTED}&sort_by=modified_at`,
		);
		keys.push(...items.filter(({ status }) => status === "completed").map(({ key }) => key));
		if (items.length < LISTED) return keys;
	}
}

async function audit(): Promise<string[]> {
	const faults: string[] = [];
	const counts = await instance.whenIndexed();
	const keys = new Set(await listedKeys());
	const lost = pages.filter(({ key }) => !keys.has(key));
	if (lost.length > 0) faults.push(`not indexed: ${lost.length}`);
	if (counts.error > 0) faults.push(`with an error: ${counts.error}`);
	if (keys.size !== pages.length) faults.push(`${keys.size} items for ${pages.length} pages`);
	const vectors = counts.engine.vectorize.vectorsCount;
	if (vectors !== counts.chunks_count) faults.push(`${vectors} vectors for ${counts.chunks_count} chunks`);
	for (let index = 0; index < SEARCHED; index++) {
		const page = pages[Math.floor((index * pages.length) / SEARCHED)];
		const title = page?.text.split("\n")[0] ?? "";
		const { chunks } = await instance.search(title, { match_threshold: 0, max_num_results: 50 });
		if (!chunks.some(({ item, text }) => item.key === page?.key && text === page.text))
			faults.push(`not found: ${page?.key}`);
	}
	// A request that was under way at a kill, or that had not been settled, is charged later.
	const { open_requests: open } = await instance.call<{ open_requests: number }>("GET", "/ai/usage/limits");
	const usage = await instance.call<UsageRow[]>("GET", "/ai/usage");
	// The searches are billed, too.
	const billed = usage.reduce((sum, { requests }) => sum + requests, 0) + open - SEARCHED;
	const repeated = billed - pages.length;
	console.log(
		`embeddings billed: ${billed} for ${pages.length} pages, repeated by ${kills} kills: ${repeated}`,
	);
	if (repeated < 0) faults.push("fewer embeddings are billed than pages are indexed");
	return faults;
}

try {
	const startedAt = performance.now();
	await instance.create({});
	await Promise.all([instance.uploadAll(pages, () => wait(RETRY_MS)), killAll()]);
	await instance.whenIndexed();
	console.log(`${pages.length} pages in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
	const faults = await audit();
	for (const fault of faults) console.log(`FAULT ${fault}`);
	if (faults.length > 0) process.exitCode = 1;
} finally {
	await served.stop();
	rmSync(state, { recursive: true, force: true, maxRetries: 5 });
}
