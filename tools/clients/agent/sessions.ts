/** Scenarios of longer sessions: files, searches, many prompts with images, and a compaction. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Conversation, Reply } from "../../../test/hosts/script.ts";
import { nonce, type Run } from "./run.ts";
import { callTools, count, expect, expectNoRefusals, follow, type McpToolUse, resultsOf } from "./steps.ts";

const FILE = "notes.txt";
/** With the calls of its tools, each prompt is at least two requests. */
const PROMPTS = 10;
/** Agents keep a conversation that is shorter than its summary. */
const LONG_PROMPT = `Remember the colour green. ${"It is the colour of grass and of leaves. ".repeat(50)}`;
const SNAPSHOT: McpToolUse = { name: "snapshot", match: /(?:^|[_-])snapshot$/, input: {} };

const text = (...pieces: string[]): Reply => ({ kind: "text", pieces });

export async function edit(run: Run): Promise<string> {
	const content = `${nonce()}\n${nonce()}`;
	const path = join(run.projectFolder, FILE);
	const results: string[] = [];
	follow(run, (conversation) => {
		const mine = resultsOf(run, conversation);
		results.push(...mine);
		const call = run.client.edit?.(path, content, conversation.tools);
		if (!call || mine.length > 0) return text("The file ", "is written.");
		if (!conversation.tools.includes(call.name))
			return text(`No ${call.name} among: ${conversation.tools.join(", ")}`);
		return { kind: "tools", calls: [call] };
	});
	const ended = await run.complete(`Write ${FILE}.`);
	const written = existsSync(path) ? readFileSync(path, "utf8").trim() : "nothing";
	expect(written === content, `the file has ${written}: ${results.join()}${run.evidence(ended)}`);
	expect(ended.output.includes("is written"), `it did not print the answer${run.evidence(ended)}`);
	expectNoRefusals(run);
	return "";
}

/** The model of the agent searches itself, or the agent's tool sends a request of its own for a search. */
export async function search(run: Run): Promise<string> {
	const query = nonce();
	run.hosts.follow((conversation) => {
		const { hosted, tools } = conversation;
		const results = resultsOf(run, conversation);
		if (hosted.includes("web_search")) return { kind: "search", query, text: `Found: ${query}` };
		const call = run.isMain(conversation) ? run.client.search?.(query, tools) : undefined;
		if (call) return results.length > 0 ? text("The search: ", results.join()) : callOf(call);
		// A model without a search of its own has the gateway's function.
		const found = conversation.turns.flatMap((turn) => turn.results.map((result) => result.text)).join();
		if (found !== "") return text("The search: ", found);
		if (tools.includes("web_search")) return callOf({ name: "web_search", input: { query } });
		return text(`No search among: ${[...tools, ...hosted].join(", ")}`);
	});
	const ended = await run.complete("Search the web.");
	expect(ended.output.includes(query), `it did not print a result${run.evidence(ended)}`);
	expectNoRefusals(run);
	const searches = run.calls.filter(({ host, reply }) => reply === "search" || host === "searxng").length;
	expect(searches > 0, `no search reached a host${run.evidence(ended)}`);
	return "";
}

const callOf = (call: { name: string; input: Record<string, unknown> }): Reply => ({
	kind: "tools",
	calls: [call],
});

export async function session(run: Run): Promise<string> {
	const answers = Array.from({ length: PROMPTS }, nonce);
	const conversations: Conversation[] = [];
	const prompt = (place: number): string => `Step ${place}: add, and look at the screen.`;
	follow(run, (conversation) => {
		conversations.push(conversation);
		const place = answers.findLastIndex((_, step) =>
			conversation.turns.some(({ role, text: written }) => role === "user" && written.includes(prompt(step))),
		);
		const add: McpToolUse = { name: "add", match: /(?:^|[_-])add$/, input: { a: place, b: 1000 } };
		const calls = callTools(run, conversation, [add, SNAPSHOT]);
		const results = resultsOf(run, conversation);
		if (results.some((result) => result.includes(String(1000 + place))))
			return text("Done: ", answers[place] ?? "");
		return calls;
	});
	for (const [place, answer] of answers.entries()) {
		const ended = await run.complete(prompt(place), place > 0);
		expect(ended.output.includes(answer), `it did not print answer ${place}${run.evidence(ended)}`);
	}
	expectNoRefusals(run);
	const last = conversations.at(-1);
	const turns = last?.turns ?? [];
	const earlier = answers.slice(0, -1).filter((answer) => turns.some((turn) => turn.text.includes(answer)));
	expect(earlier.length === PROMPTS - 1, `the last request has ${earlier.length} earlier answers`);
	expect(run.mcpCalls.length === 2 * PROMPTS, `the MCP server was called ${run.mcpCalls.length} times`);
	// Gemini CLI repeats the results of earlier prompts when it resumes.
	const images = turns.flatMap((turn) => turn.images);
	expect(
		images.length >= PROMPTS && !images.includes(0),
		`the last request has images of ${images.join()} bytes`,
	);
	return count(conversations.length, "request");
}

export async function compact(run: Run): Promise<string> {
	const [first, second, summary] = [nonce(), nonce(), nonce()];
	const prompts = [LONG_PROMPT, "Which colour?"].map((one) => run.prompt(one));
	const { compaction } = run.client;
	const reported = compaction?.inputTokens !== undefined && { inputTokens: compaction.inputTokens };
	const conversations: Conversation[] = [];
	run.hosts.follow((conversation) => {
		const last = conversation.turns.findLast(({ role, text: written }) => role === "user" && written !== "");
		// A summary of some agents quotes the first prompt, and hosts join turns of the user.
		const place = prompts.findLastIndex((prompt) => last?.text.includes(prompt));
		// pi quotes the conversation in a prompt, without tools.
		if (conversation.compacts || place < 0 || conversation.tools.length === 0)
			return { kind: "text", pieces: ["The summary: ", summary], ...(compaction?.prompt && reported) };
		conversations.push(conversation);
		if (place > 0) return text("Noted: ", second);
		return { kind: "text", pieces: ["Noted: ", first], ...reported };
	});
	run.configure(compaction?.configure);
	await run.complete(LONG_PROMPT);
	if (compaction?.prompt !== undefined) await run.complete(compaction.prompt, true);
	const ended = await run.complete("Which colour?", true);
	expect(ended.output.includes(second), `it did not print the second answer${run.evidence(ended)}`);
	const turns = conversations.findLast(({ turns }) => turns.some((turn) => turn.text.includes(summary)));
	expect(turns !== undefined, `no request has the summary${run.evidence(ended)}`);
	expectNoRefusals(run);
	return "";
}
