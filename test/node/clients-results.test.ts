/** The tables of `npm run clients` in the documentation, and the recorded results that they are written from. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { agent as codex } from "../../tools/clients/agents/codex.ts";
import { allClients, detailsOf, KINDS, SCENARIOS_OF } from "../../tools/clients/all.ts";
import { PAGES, withResults } from "../../tools/clients/docs.ts";
import { mergeResults, type RecordedResults, readResults } from "../../tools/clients/results.ts";
import type { Row } from "../../tools/clients/table.ts";

const ROOT = join(import.meta.dirname, "../..");
const clients = await allClients();
const results = readResults();

describe("the tables of clients", () => {
	it.each(KINDS)("have the recorded results: %s", (kind) => {
		const page = readFileSync(join(ROOT, PAGES[kind]), "utf8");
		expect(withResults(page, kind, clients, results), "run `npm run clients -- --tables`").toBe(page);
	});

	it("have clients that exist", () => {
		const names = clients.map(({ name }) => name);
		for (const name of Object.keys(results)) expect(names).toContain(name);
	});

	it("have scenarios and models that exist", () => {
		for (const client of clients) {
			const { models, unsupported = {} } = detailsOf(client);
			for (const [scenario, byModel] of Object.entries(results[client.name]?.scenarios ?? {})) {
				expect(SCENARIOS_OF[client.kind], client.name).toContain(scenario);
				expect(unsupported[scenario], `${client.name}, ${scenario}`).toBeUndefined();
				for (const model of Object.keys(byModel)) expect(models, client.name).toContain(model);
			}
		}
	});
});

const PAGE =
	"# Page\n<!-- Begin of the results of `npm run clients`. -->\nold\n<!-- End of the results. -->\nend\n";
const CODEX = clients.filter(({ name }) => name === "codex");
const codexModels = CODEX.flatMap((client) => detailsOf(client).models);

const tableOf = (recorded: RecordedResults): string => withResults(PAGE, "agent", CODEX, recorded);

/** The cells of Codex, by the head of the column. */
function cellsOf(recorded: RecordedResults): Record<string, string> {
	const lines = tableOf(recorded)
		.split("\n")
		.filter((line) => line.startsWith("|"))
		.map((line) => line.split("|").map((cell) => cell.trim()));
	const [head = [], , row = []] = lines;
	return Object.fromEntries(head.map((name, column) => [name, row[column] ?? ""]));
}

const recordedWith = (models: readonly string[], failure?: string): RecordedResults => ({
	codex: {
		version: "0.171.0",
		published: "2026-11-20",
		scenarios: {
			turn: Object.fromEntries(
				models.map((model) => [model, { date: "2026-11-26", ...(failure !== undefined && { failure }) }]),
			),
		},
	},
});

describe("a cell", () => {
	it("is a dot only if each model of the client passes", () => {
		expect(cellsOf(recordedWith(codexModels))).toMatchObject({ Client: "`Codex`", turn: "●", limit: "" });
		expect(cellsOf(recordedWith(codexModels.slice(0, 1)))).toMatchObject({
			turn: `1/${codexModels.length}`,
		});
		expect(cellsOf(recordedWith(codexModels, "it did not print the answer"))).toMatchObject({
			turn: "fails",
		});
	});

	it("is a dash with a reason below the table if the client cannot do it", () => {
		expect(cellsOf(recordedWith(codexModels))).toMatchObject({ shorten: "–" });
		expect(tableOf(recordedWith(codexModels))).toContain("- `Codex`, `shorten`: it keeps its output limit.");
	});

	it("is left out with its row if the client passes everything", () => {
		const claude = clients.filter(({ name }) => name === "claude");
		const models = claude.flatMap((client) => detailsOf(client).models);
		const passed = Object.fromEntries(models.map((model) => [model, { date: "2026-11-26" }]));
		const scenarios = Object.fromEntries(SCENARIOS_OF.agent.map((scenario) => [scenario, passed]));
		const recorded = { claude: { version: "2.1.332", published: "2026-11-24", scenarios } };
		const page = withResults(PAGE, "agent", claude, recorded);
		expect(page).toContain("models (oldest result: 2026-11-26): `Claude Code` 2.1.332.\n");
		expect(page).not.toContain("|");
	});

	it("is as old as the oldest result of its row", () => {
		const recorded = recordedWith(codexModels);
		const turn = recorded.codex?.scenarios.turn ?? {};
		turn["gpt-5.5"] = { date: "2026-11-24" };
		expect(cellsOf(recorded)).toMatchObject({ Run: "2026-11-24" });
	});
});

describe("a run", () => {
	const row = (version: string, model: string, failure?: string): Row => ({
		kind: "agent",
		name: "codex",
		title: "Codex",
		package: "@openai/codex",
		version,
		date: "2026-11-20",
		models: codexModels,
		results: [],
		played: [{ scenario: "turn", model, note: "", ...(failure !== undefined && { failure }) }],
	});

	it("replaces the results of its own scenarios and models", () => {
		const merged = mergeResults(
			recordedWith(["gpt-5.5", "gpt-6-sol"]),
			[row("0.171.0", "gpt-6-sol", "no end after 120 s\n    /tmp/x")],
			"2026-11-27",
		);
		expect(merged.codex?.scenarios.turn).toEqual({
			"gpt-5.5": { date: "2026-11-26" },
			"gpt-6-sol": { date: "2026-11-27", failure: "no end after 120 s" },
		});
	});

	it("replaces all results of another version", () => {
		const merged = mergeResults(recordedWith(["gpt-5.5"]), [row("0.172.0", "gpt-6-sol")], "2026-11-27");
		expect(merged.codex).toEqual({
			version: "0.172.0",
			published: "2026-11-20",
			scenarios: { turn: { "gpt-6-sol": { date: "2026-11-27" } } },
		});
	});

	it("keeps the results of a client that could not be installed", () => {
		const before = recordedWith(["gpt-5.5"]);
		expect(mergeResults(before, [{ ...row("", "gpt-5.5"), played: [] }], "2026-11-27")).toEqual(before);
	});
});

it("the page of agents has the configuration with which Codex was tested", () => {
	const [, shown = ""] = /```toml\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, PAGES.agent), "utf8")) ?? [];
	const home = mkdtempSync(join(tmpdir(), "ganglion-codex-"));
	codex.configure?.({ base: "BASE", folder: home, home, mcp: ["node"], model: "MODEL", token: "TOKEN" });
	const { mcp_servers: _, ...tested } = parse(readFileSync(join(home, ".codex/config.toml"), "utf8"));
	rmSync(home, { recursive: true });
	// Without it, Codex assumes a window.
	expect(parse(shown)).toEqual({ ...tested, model_context_window: 256_000 });
});
