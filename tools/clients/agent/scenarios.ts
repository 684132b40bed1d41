/** The scenarios that each agent must pass. A scenario throws a `Failure` with the reason, or returns a note for the table. */
import { setTimeout as wait } from "node:timers/promises";
import {
	CONTEXT_TOKENS,
	type Conversation,
	INPUT_TOKENS,
	RETRY_AFTER_S,
} from "../../../test/hosts/script.ts";
import type { ScenarioName } from "./client.ts";
import { nonce, type Run } from "./run.ts";
import { compact, edit, search, session } from "./sessions.ts";
import { callTools, count, expect, expectNoRefusals, follow, type McpToolUse, resultsOf } from "./steps.ts";

export const SCENARIOS = {
	turn: { title: "a streamed turn", play: turn },
	tools: { title: "a tool loop with an MCP server", play: tools },
	edit: { title: "a file, written by the agent's own tool", play: edit },
	search: { title: "a search of the web", play: search },
	resume: { title: "a second turn of the session", play: resume },
	session: { title: "ten prompts with calls and images in results", play: session },
	compact: { title: "a conversation that the agent replaces by a summary", play: compact },
	interrupt: { title: "an interrupt in the middle of a stream", play: interrupt },
	overflow: { title: "a full context", play: overflow },
	shorten: { title: "an output limit that exceeds the context", play: shorten },
	limit: { title: "a 429 with Retry-After", play: limit },
} as const satisfies Record<ScenarioName, { title: string; play: (run: Run) => Promise<string> }>;

/** From the engine through the gateway to the tap. */
const STREAM_MS = 10_000;
const FIRST_PIECE_MS = 120_000;
/** From the signal to the end of the engine's connection. */
const CLOSE_MS = 5_000;
const POLL_MS = 20;
/** Requests that the engine refuses with 429. */
const REFUSALS = 2;
const CALLS: readonly McpToolUse[] = [
	{ name: "add", match: /(?:^|[_-])add$/, input: { a: 19, b: 23 } },
	{ name: "get__weather", match: /get__weather$/, input: { city: "Lisbon" } },
];
/** More requests than this after a full context are a loop. */
const MAX_OVERFLOWS = 4;
const OVERFLOW_MS = 120_000;
async function turn(run: Run): Promise<string> {
	const [first, last] = [nonce(), nonce()];
	let streamed = false;
	const pause = async () => {
		streamed = await run.tap.waitFor(first, STREAM_MS);
	};
	follow(run, () => ({ kind: "text", pieces: [`${first} `, "stands before ", `${last}.`], pause }));
	const ended = await run.complete("Reply with one sentence.");
	for (const text of [first, last])
		expect(ended.output.includes(text), `it did not print the answer${run.evidence(ended)}`);
	expect(streamed, "the answer was not streamed: the first part arrived with the last");
	expectNoRefusals(run);
	return `${(ended.ms / 1000).toFixed(1)} s, ${count(run.answerRequests.length, "request")}`;
}

async function tools(run: Run): Promise<string> {
	follow(run, (conversation) => {
		const results = resultsOf(run, conversation);
		if (results.length < CALLS.length) return callTools(run, conversation, CALLS);
		return { kind: "text", pieces: ["The tools answered: ", results.slice(-CALLS.length).join(" and ")] };
	});
	const ended = await run.complete("Add 19 and 23 and tell me the weather in Lisbon. Use the tools.");
	const calls = run.mcpCalls.map((call) => JSON.stringify(call)).sort();
	const expected = CALLS.map(({ input, name }) => JSON.stringify({ name, arguments: input }));
	expect(
		calls.join() === expected.join(),
		`the MCP server was called with: ${calls.join(", ") || "nothing"}${run.evidence(ended)}`,
	);
	expect(
		ended.output.includes(run.secret) && ended.output.includes("42"),
		`the answer has no result of the tools${run.evidence(ended)}`,
	);
	expectNoRefusals(run);
	const main = run.calls.filter(({ conversation }) => conversation && run.isMain(conversation)).length;
	return `${(ended.ms / 1000).toFixed(1)} s, ${count(main, "round")}`;
}

async function resume(run: Run): Promise<string> {
	const [first, second] = [nonce(), nonce()];
	const conversations: Conversation[] = [];
	follow(run, (conversation, call) => {
		conversations.push(conversation);
		return { kind: "text", pieces: ["Noted: ", call === 0 ? first : second] };
	});
	await run.complete("Remember the colour green.");
	const ended = await run.complete("Which colour?", true);
	expect(ended.output.includes(second), `it did not print the second answer${run.evidence(ended)}`);
	const turns = conversations.at(-1)?.turns ?? [];
	const texts = turns.map(({ text }) => text);
	const positions = [run.prompt("Remember the colour green."), first, run.prompt("Which colour?")].map(
		(text) => texts.findIndex((message) => message.includes(text)),
	);
	const [question = -1, answer = -1, followUp = -1] = positions;
	expect(
		question >= 0 && question < answer && answer < followUp,
		`the second request does not contain the first turn: ${turns.map(({ role }) => role)}`,
	);
	expectNoRefusals(run);
	return turns.map(({ role }) => role.slice(0, 1)).join("");
}

async function interrupt(run: Run): Promise<string> {
	const piece = nonce();
	follow(run, () => ({ kind: "endless", piece: `${piece} ` }));
	const agent = run.start("Count up for ever.", { timeoutMs: 2 * FIRST_PIECE_MS });
	expect(await run.tap.waitFor(piece, FIRST_PIECE_MS), `no stream started${run.evidence({ output: "" })}`);
	const signalledAt = performance.now();
	agent.interrupt();
	const open = () => run.calls.filter(({ reply, closedAt }) => reply === "endless" && closedAt === undefined);
	while (open().length > 0 && performance.now() - signalledAt < CLOSE_MS) await wait(POLL_MS);
	const closedMs = Math.round(performance.now() - signalledAt);
	const stillOpen = open().length;
	await Promise.race([agent.ended, wait(CLOSE_MS)]);
	agent.kill();
	expect(stillOpen === 0, `the engine's connection was open ${CLOSE_MS / 1000} s after the signal`);
	return `closed after ${closedMs} ms`;
}

async function overflow(run: Run): Promise<string> {
	follow(run, () => ({ kind: "failure", failure: "full context" }));
	const ended = await run.start("Read all of it.", { timeoutMs: OVERFLOW_MS }).ended;
	const refused = run.calls.filter(({ reply }) => reply === "failure").length;
	expect(refused > 0, `nothing reached the engine${run.evidence(ended)}`);
	const { overflow: overflowOutput } = run.client;
	const compacted = run.calls.some(
		({ conversation, reply }) => reply === "text" && conversation && !run.isMain(conversation),
	);
	expect(
		overflowOutput === "compaction" ? compacted : overflowOutput.test(ended.output),
		`it did not notice that the context is full${run.evidence(ended)}`,
	);
	expect(refused <= MAX_OVERFLOWS, `it sent ${refused} requests${run.evidence(ended)}`);
	expect(!ended.timedOut, `no end after ${OVERFLOW_MS / 1000} s${run.evidence(ended)}`);
	if (overflowOutput === "compaction") return `${count(refused, "request")}, with a compaction`;
	const line = ended.output.split("\n").find((text) => overflowOutput.test(text)) ?? "";
	return `${count(refused, "request")}: ${line.trim()}`;
}

async function shorten(run: Run): Promise<string> {
	const answer = nonce();
	const requested: number[] = [];
	follow(run, ({ maxTokens = 0 }) => {
		requested.push(maxTokens);
		return maxTokens + INPUT_TOKENS <= CONTEXT_TOKENS
			? { kind: "text", pieces: ["Here it is: ", answer] }
			: { kind: "failure", failure: "no room" };
	});
	const ended = await run.complete("Reply with one sentence.");
	expect(ended.output.includes(answer), `it did not print the answer${run.evidence(ended)}`);
	expect(requested.length > 1, `it requested ${requested.join()} tokens at once`);
	return `requested ${requested.join(", then ")} tokens`;
}

async function limit(run: Run): Promise<string> {
	const answer = nonce();
	follow(run, (_, call) =>
		call < REFUSALS
			? { kind: "failure", failure: "rate limit" }
			: { kind: "text", pieces: ["Here it is: ", answer] },
	);
	const ended = await run.complete("Reply with one sentence.");
	expect(ended.output.includes(answer), `it did not print the answer${run.evidence(ended)}`);
	const refused = run.answerRequests.filter(({ status }) => status === 429);
	expect(refused.length > 0, "the gateway answered no 429");
	for (const { responseHeaders } of refused)
		expect(
			Number(responseHeaders?.["retry-after"]) >= RETRY_AFTER_S,
			`a 429 has retry-after: ${responseHeaders?.["retry-after"]}`,
		);
	const [first] = refused;
	const next = run.answerRequests.find(
		({ openedAt }) => first?.endedAt !== undefined && openedAt > first.endedAt,
	);
	const pauseMs = (next?.openedAt ?? 0) - (first?.endedAt ?? 0);
	return `${count(refused.length, "refusal")}, retried after ${(pauseMs / 1000).toFixed(1)} s`;
}
