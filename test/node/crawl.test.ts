/** A website as a source of AI Search, with a real server, and a gateway that is killed while it reads. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";
import { runScript, type Script } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const PAGES = 60;
/** Calls at the same time, each of which a kill may repeat. */
const LANES = 4;
const KILLS = 2;

const folder = mkdtempSync(join(tmpdir(), "ganglion-crawl-"));
const calls = new Map<string, number>();
let isSlow = true;
const site = createServer((request, answer) => {
	const path = request.url ?? "";
	calls.set(path, (calls.get(path) ?? 0) + 1);
	const number = Number(path.slice(1) || "0");
	const isPage = path === "/" || (Number.isInteger(number) && number <= PAGES);
	// Each page leads to the next ones, so that the frontier grows while it is read.
	const links = [1, 2, 3].map((step) => `<a href="/${number + step}">next</a>`).join("");
	setTimeout(
		() => {
			answer.writeHead(isPage ? 200 : 404, { "content-type": "text/html" });
			answer.end(isPage ? `<h1>Page ${number}</h1><p>Text of the page turbine${number}.</p>${links}` : "");
		},
		isSlow ? 60 : 0,
	);
});
let port = 0;
let gateway: Script;

const start = async (): Promise<void> => {
	gateway = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
		env: {
			...{ ADMIN_TOKEN, DEFAULT_BACKEND: "simulator" },
			AI_SEARCH: JSON.stringify({ allow_network: true, allow_private_addresses: true }),
		},
		group: true,
	});
	expect(await gateway.until(/Open files|error/)).toContain("is ready");
};

async function api<Result>(method: string, path: string, body?: object): Promise<Result> {
	const response = await fetch(
		`http://127.0.0.1:${port}/client/v4/accounts/local/ai-search/instances${path}`,
		{
			method,
			headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
			...(body && { body: JSON.stringify(body) }),
		},
	);
	const { errors, result } = (await response.json()) as { result: Result; errors: unknown };
	if (!response.ok) throw new Error(JSON.stringify(errors));
	return result;
}

beforeAll(async () => {
	site.listen(0, "127.0.0.1");
	await once(site, "listening");
	port = await freePort();
	await start();
});
afterAll(async () => {
	gateway.kill("SIGTERM");
	await gateway.exit;
	site.closeAllConnections();
	site.close();
	rmSync(folder, { recursive: true, force: true });
});

const MINUTES = 180_000;

it("is read to its end by a gateway that is killed, with few pages twice", { timeout: MINUTES }, async () => {
	const source = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
	const crawl = { parse_type: "discover", discover_options: { source: "links", depth: 100, limit: 200 } };
	await api("POST", "", { id: "site", type: "web-crawler", source, source_params: { web_crawler: crawl } });
	for (let kill = 1; kill <= KILLS; kill++) {
		await expect.poll(() => calls.size, { timeout: MINUTES }).toBeGreaterThan((PAGES / (KILLS + 1)) * kill);
		gateway.kill("SIGKILL", "group");
		await gateway.exit;
		await start();
	}
	isSlow = false;
	const counts = () =>
		api<{ completed: number; queued: number; running: number; error: number }>("GET", "/site/stats");
	await expect
		.poll(async () => (await counts()).completed, { timeout: MINUTES, interval: 500 })
		.toBe(PAGES + 1);
	const jobs = () => api<{ ended_at?: string; end_reason?: string }[]>("GET", "/site/jobs");
	await expect.poll(async () => (await jobs())[0]?.ended_at, { timeout: MINUTES }).toBeDefined();
	const [job, ...others] = await jobs();
	expect([job?.end_reason, others]).toEqual([undefined, []]);
	const pages = [...calls].filter(([path]) => path !== "/robots.txt");
	const repeated = pages.reduce((sum, [, count]) => sum + count - 1, 0);
	expect(repeated).toBeLessThanOrEqual(LANES * KILLS);
	const { chunks } = await api<{ chunks: { item: { key: string } }[] }>("POST", "/site/search", {
		query: `turbine${PAGES}`,
	});
	expect(chunks[0]?.item.key).toBe(`${source}${PAGES}`);
});
