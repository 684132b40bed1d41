/** Writes the recorded results into the documentation, between two comments of each page. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, detailsOf, KINDS, SCENARIOS_OF } from "./all.ts";
import type { RecordedClient, RecordedResults } from "./results.ts";

export const PAGES: Readonly<Record<Client["kind"], string>> = {
	library: "docs/clients.md",
	agent: "docs/agents.md",
};
const BEGIN = "<!-- Begin of the results of `npm run clients`. -->";
const END = "<!-- End of the results. -->";

export function updateDocs(clients: readonly Client[], results: RecordedResults): void {
	for (const kind of KINDS) {
		const path = join(import.meta.dirname, "../..", PAGES[kind]);
		const page = readFileSync(path, "utf8");
		writeFileSync(path, withResults(page, kind, clients, results));
	}
}

/** The page with the clients that pass everything, the table of the others, and the reasons of scenarios that a client cannot do. */
export function withResults(
	page: string,
	kind: Client["kind"],
	clients: readonly Client[],
	results: RecordedResults,
): string {
	const [start, end] = [page.indexOf(BEGIN), page.indexOf(END)];
	if (start < 0 || end < start) throw new Error(`${PAGES[kind]} has no place for the results`);
	const mine = clients
		.filter((client) => client.kind === kind && results[client.name] !== undefined)
		.sort((a, b) => detailsOf(a).title.localeCompare(detailsOf(b).title));
	const complete = mine.filter((client) => passesAll(client, results[client.name]));
	const others = mine.filter((client) => !complete.includes(client));
	const text = [completeClients(complete, results), resultsTable(others, kind, results), reasonsOf(others)]
		.filter((part) => part !== "")
		.join("\n\n");
	return `${page.slice(0, start)}${BEGIN}\n\n${text}\n\n${page.slice(end)}`;
}

const passesAll = (client: Client, recorded: RecordedClient | undefined): boolean =>
	recorded !== undefined &&
	SCENARIOS_OF[client.kind].every((scenario) => cellOf(client, scenario, recorded) === "●");

/** One line, because their rows would be equal. */
function completeClients(clients: readonly Client[], results: RecordedResults): string {
	const recorded = clients.flatMap((client) => {
		const result = results[client.name];
		return result ? [{ title: detailsOf(client).title, result }] : [];
	});
	if (recorded.length === 0) return "";
	const names = recorded.map(({ title, result }) => `\`${title}\` ${result.version}`);
	const oldest = recorded.map(({ result }) => runOf(result)).sort()[0];
	return `These pass every scenario with each of their models (oldest result: ${oldest}): ${names.join("; ")}.`;
}

function resultsTable(clients: readonly Client[], kind: Client["kind"], results: RecordedResults): string {
	if (clients.length === 0) return "";
	const scenarios = SCENARIOS_OF[kind];
	const rows = clients.flatMap((client) => {
		const recorded = results[client.name];
		if (!recorded) return [];
		const { models, title } = detailsOf(client);
		const cells = scenarios.map((scenario) => cellOf(client, scenario, recorded));
		return [
			[
				`\`${title}\``,
				recorded.version,
				recorded.published,
				runOf(recorded),
				String(models.length),
				...cells,
			],
		];
	});
	return aligned([["Client", "Version", "Published", "Run", "Models", ...scenarios], ...rows]);
}

/** `●`: it passes with each model of the client's file. `2/4`: it ran with two of four, and passed. */
function cellOf(client: Client, scenario: string, { scenarios }: RecordedClient): string {
	const { models, unsupported = {} } = detailsOf(client);
	if (unsupported[scenario] !== undefined) return "–";
	const ran = models.flatMap((model) => scenarios[scenario]?.[model] ?? []);
	if (ran.length === 0) return "";
	if (ran.some(({ failure }) => failure !== undefined)) return "fails";
	return ran.length === models.length ? "●" : `${ran.length}/${models.length}`;
}

/** The day of the oldest result. */
function runOf({ scenarios }: RecordedClient): string {
	const days = Object.values(scenarios).flatMap((models) => Object.values(models).map(({ date }) => date));
	return days.sort()[0] ?? "";
}

/** One line for each reason, with its scenarios and all clients that it concerns. */
function reasonsOf(clients: readonly Client[]): string {
	const titles = new Map<string, string[]>();
	for (const client of clients) {
		const { title, unsupported = {} } = detailsOf(client);
		const scenarios = new Map<string, string[]>();
		for (const [scenario, reason = ""] of Object.entries(unsupported))
			scenarios.set(reason, [...(scenarios.get(reason) ?? []), `\`${scenario}\``]);
		for (const [reason, names] of scenarios) {
			const end = `${names.join(", ")}: ${reason}.`;
			titles.set(end, [...(titles.get(end) ?? []), `\`${title}\``]);
		}
	}
	return [...titles].map(([end, names]) => `- ${names.join(", ")}, ${end}`).join("\n");
}

/** Pads the cells, as the formatter does. */
function aligned([head = [], ...rows]: readonly string[][]): string {
	const widths = head.map((_, column) =>
		Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)),
	);
	const line = (row: readonly string[], filler = " ") =>
		`| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0, filler)).join(" | ")} |`;
	return [
		line(head),
		line(
			head.map(() => ""),
			"-",
		),
		...rows.map((row) => line(row)),
	].join("\n");
}
