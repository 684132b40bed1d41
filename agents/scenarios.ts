/** The scenarios that each agent must pass. A scenario throws a `Failure` with the reason, or returns a note for the table. */
import { setTimeout as wait } from "node:timers/promises";
import type { ScenarioName } from "./client.ts";
import { type ChatBody, type Reply, type Script, textOfMessage, toolNames } from "./engine.ts";
import { Failure, nonce, type Run, SIDE_TEXT } from "./run.ts";

export const SCENARIOS = {
	turn: { title: "a streamed turn", play: turn },
	tools: { title: "a tool loop with an MCP server", play: tools },
	resume: { title: "a second turn of the session", play: resume },
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
const RETRY_AFTER_S = 1;
/** Requests that the engine refuses with 429. */
const REFUSALS = 2;
/** Calls of the MCP server's tools. Agents add the server's name before a tool's name. */
const CALLS = [
	{ name: "add", match: /(?:^|[_-])add$/, arguments: { a: 19, b: 23 } },
	{ name: "get__weather", match: /get__weather$/, arguments: { city: "Lisbon" } },
];
/** More requests than this after a full context are a loop. */
const MAX_OVERFLOWS = 4;
const OVERFLOW_MS = 120_000;
/** The context of the engine that has room for a short answer only. */
const INPUT_TOKENS = 20_000;
const ROOM_TOKENS = 9_000;

const SIDE_REPLY: Reply = { kind: "text", pieces: [SIDE_TEXT] };

const follow = (run: Run, reply: Script): void => {
	let calls = 0;
	run.engine.follow((body) => (run.isMain(body) ? reply(body, calls++) : SIDE_REPLY));
};

function expect(holds: boolean, reason: string): asserts holds {
	if (!holds) throw new Failure(reason);
}

const expectNoRefusals = (run: Run): void => {
	const refused = run.answerRequests.filter(({ status = 0 }) => status >= 400);
	expect(refused.length === 0, `${refused.length} refused requests${run.evidence({ output: "" })}`);
};

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
	const { indirectCall, toolSearch } = run.client;
	follow(run, (body) => {
		const results = body.messages.filter(({ role }) => role === "tool").map(textOfMessage);
		const names = toolNames(body);
		const direct = CALLS.flatMap(({ match, ...call }) => {
			const name = names.find((one) => match.test(one));
			return name === undefined ? [] : [{ name, arguments: call.arguments }];
		});
		const hasSearch = toolSearch !== undefined && names.includes(toolSearch.name);
		if (hasSearch && direct.length === 0 && results.length === 0)
			return { kind: "tools", calls: [toolSearch] };
		const indirect = CALLS.flatMap((call) => indirectCall?.(call.name, call.arguments) ?? []);
		const hasIndirect = indirect.length > 0 && indirect.every(({ name }) => names.includes(name));
		const calls = direct.length < CALLS.length && hasIndirect ? indirect : direct;
		if (calls.length < CALLS.length)
			return { kind: "text", pieces: [`No such tools among: ${names.join(", ")}`] };
		if (results.length < CALLS.length) return { kind: "tools", calls };
		return { kind: "text", pieces: ["The tools answered: ", results.slice(-CALLS.length).join(" and ")] };
	});
	const ended = await run.complete("Add 19 and 23 and tell me the weather in Lisbon. Use the tools.");
	const calls = run.mcpCalls.map((call) => JSON.stringify(call)).sort();
	const expected = CALLS.map(({ name, arguments: input }) => JSON.stringify({ name, arguments: input }));
	expect(
		calls.join() === expected.join(),
		`the MCP server was called with: ${calls.join(", ") || "nothing"}${run.evidence(ended)}`,
	);
	expect(
		ended.output.includes(run.secret) && ended.output.includes("42"),
		`the answer has no result of the tools${run.evidence(ended)}`,
	);
	expectNoRefusals(run);
	const main = run.engine.calls.filter(({ body }) => run.isMain(body)).length;
	return `${(ended.ms / 1000).toFixed(1)} s, ${count(main, "round")}`;
}

async function resume(run: Run): Promise<string> {
	const [first, second] = [nonce(), nonce()];
	const bodies: ChatBody[] = [];
	follow(run, (body, call) => {
		bodies.push(body);
		return { kind: "text", pieces: ["Noted: ", call === 0 ? first : second] };
	});
	await run.complete("Remember the colour green.");
	const ended = await run.complete("Which colour?", true);
	expect(ended.output.includes(second), `it did not print the second answer${run.evidence(ended)}`);
	const texts = bodies.at(-1)?.messages.map(textOfMessage) ?? [];
	const positions = [run.prompt("Remember the colour green."), first, run.prompt("Which colour?")].map(
		(text) => texts.findIndex((message) => message.includes(text)),
	);
	const [question = -1, answer = -1, followUp = -1] = positions;
	expect(
		question >= 0 && question < answer && answer < followUp,
		`the second request does not contain the first turn: ${bodies.at(-1)?.messages.map(({ role }) => role)}`,
	);
	expectNoRefusals(run);
	return (
		bodies
			.at(-1)
			?.messages.map(({ role }) => role.slice(0, 1))
			.join("") ?? ""
	);
}

async function interrupt(run: Run): Promise<string> {
	const piece = nonce();
	follow(run, () => ({ kind: "endless", piece: `${piece} ` }));
	const agent = run.start("Count up for ever.", { timeoutMs: 2 * FIRST_PIECE_MS });
	expect(await run.tap.waitFor(piece, FIRST_PIECE_MS), `no stream started${run.evidence({ output: "" })}`);
	const signalledAt = performance.now();
	agent.interrupt();
	const open = () =>
		run.engine.calls.filter(({ reply, closedAt }) => reply === "endless" && closedAt === undefined);
	while (open().length > 0 && performance.now() - signalledAt < CLOSE_MS) await wait(POLL_MS);
	const closedMs = Math.round(performance.now() - signalledAt);
	const stillOpen = open().length;
	await Promise.race([agent.ended, wait(CLOSE_MS)]);
	agent.kill();
	expect(stillOpen === 0, `the engine's connection was open ${CLOSE_MS / 1000} s after the signal`);
	return `closed after ${closedMs} ms`;
}

async function overflow(run: Run): Promise<string> {
	follow(run, () => ({
		kind: "failure",
		status: 400,
		error: {
			message:
				"This model's maximum context length is 128000 tokens. However, your messages resulted in 131313 tokens. Please reduce the length of the messages.",
			type: "invalid_request_error",
			param: "messages",
			code: "context_length_exceeded",
		},
	}));
	const ended = await run.start("Read all of it.", { timeoutMs: OVERFLOW_MS }).ended;
	const refused = run.engine.calls.filter(({ reply }) => reply === "failure").length;
	expect(refused > 0, `nothing reached the engine${run.evidence(ended)}`);
	const { overflow: overflowOutput } = run.client;
	const compacted = run.engine.calls.some(({ body, reply }) => reply === "text" && !run.isMain(body));
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
	follow(run, ({ max_tokens }) => {
		const output = Number(max_tokens);
		requested.push(output);
		return output <= ROOM_TOKENS
			? { kind: "text", pieces: ["Here it is: ", answer] }
			: {
					kind: "failure",
					status: 400,
					error: {
						message: `'max_tokens' or 'max_completion_tokens' is too large: ${output}. This model's maximum context length is ${INPUT_TOKENS + ROOM_TOKENS} tokens and your request has ${INPUT_TOKENS} input tokens (${output} > ${INPUT_TOKENS + ROOM_TOKENS} - ${INPUT_TOKENS}).`,
						type: "BadRequestError",
						param: null,
						code: 400,
					},
				};
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
			? {
					kind: "failure",
					status: 429,
					headers: { "retry-after": String(RETRY_AFTER_S) },
					error: {
						message: "Rate limit reached for requests",
						type: "requests",
						param: null,
						code: "rate_limit_exceeded",
					},
				}
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

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;
