/**
 * Requests of agents as fixtures for `test/agents/`: without credentials, ids and paths of this machine, and with truncated texts. They keep
 * the structure that the gateway must accept. `--record FOLDER` writes them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Recorded } from "./tap.ts";

export interface Fixture {
	/** With its version. */
	agent: string;
	/** After `…/ai`. */
	path: string;
	headers: Record<string, string>;
	body: unknown;
}

/** Headers about the agent and its session. The others belong to the HTTP client, or are secrets. */
const HEADERS =
	/^(?:anthropic-beta|anthropic-version|content-type|originator|session-id|thread-id|user-agent|x-(?:app|claude-code-.*|codex-beta-features|initiator|session-.*|title))$/;
/** The operating system in a user agent. */
const SYSTEM = / \(.*/;
const ACCOUNT_PATH = /^\/client\/v4\/accounts\/[^/]+\/ai/;
const MAX_TEXT = 96;
const MAX_DESCRIPTION = 32;

/** Ids. The values of each kind are numbered in their order. */
const IDS: readonly [RegExp, (number: number, id: string) => string][] = [
	[/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (n) => `00000000-0000-4000-8000-${padded(n, 12)}`],
	[/\b[0-9a-f]{32,}\b/g, (n) => padded(n, 32)],
	[/\b(?:fc|msg|toolu|chatcmpl)_[0-9a-f]{16,}\b/g, numbered],
	[/\bses_[0-9A-Za-z]{8,}/g, numbered],
	[/\bcall_\d{9}\b/g, numbered],
	[/\bw[0-9a-f]{8}\b/g, (n) => `word${n}`],
	[/\b\d\.\d{4} seconds/g, () => "0.0100 seconds"],
	[/\b\d{13}\b/g, () => "1795262400000"],
];

const padded = (number: number, length: number): string => String(number).padStart(length, "0");

function numbered(number: number, id: string): string {
	return `${id.split("_")[0]}_${number}`;
}

/** `folders`: paths of this machine, and the text for each. */
export function fixtureOf(
	record: Recorded,
	agent: string,
	folders: Readonly<Record<string, string>>,
): Fixture {
	const headers = Object.entries(record.headers)
		.filter(([name]) => HEADERS.test(name))
		.map(([name, value]) => [name, String(value).replace(SYSTEM, "")]);
	let text = JSON.stringify({
		agent,
		path: record.path.replace(ACCOUNT_PATH, ""),
		headers: Object.fromEntries(headers),
		body: JSON.parse(record.body),
	});
	for (const [folder, name] of Object.entries(folders)) text = text.replaceAll(folder, name);
	for (const [pattern, name] of IDS) {
		const names = new Map<string, string>();
		text = text.replace(pattern, (id) => {
			const renamed = names.get(id) ?? name(names.size + 1, id);
			names.set(id, renamed);
			return renamed;
		});
	}
	const fixture: Fixture = JSON.parse(text);
	return { ...fixture, body: JSON.parse(JSON.stringify(fixture.body), truncate) };
}

function truncate(key: string, value: unknown): unknown {
	const length = key === "description" ? MAX_DESCRIPTION : MAX_TEXT;
	if (typeof value !== "string" || value.length <= length || value.startsWith("{")) return value;
	return `${value.slice(0, length)}…`;
}

export function writeFixture(folder: string, agent: string, name: string, fixture: Fixture): void {
	mkdirSync(join(folder, agent), { recursive: true });
	writeFileSync(join(folder, agent, `${name}.json`), `${JSON.stringify(fixture, null, "\t")}\n`);
}
