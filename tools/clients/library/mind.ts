/** The script of the hosts in the scenarios of client libraries. The prompt says which reply comes. */
import { piecesOf, type Reply, type Script } from "../../../test/hosts/script.ts";

export const PERSON = { name: "Alice", age: 30 };
export const PROMPTS = {
	say: (text: string) => `Say this: ${text}`,
	name: "My name is Alice.",
	ask: "What is my name?",
	again: "And once more: what is my name?",
	weather: "What is the weather in Paris and in London? Use the tool.",
	person: "Alice is 30 years old. Extract the person as JSON.",
	image: "How many bytes has this image?",
	forever: "Count for ever.",
	/** The first request with the text gets a 429, and the next one the answer. */
	limited: (text: string) => `Say this later: ${text}`,
};

/** Both calls, as a model of Codex writes them for its tool `exec`. */
const WEATHER_SCRIPT = `const cities = ["Paris", "London"];
const results = await Promise.all(cities.map((city) => tools.mcp__local__weather({ city })));
for (const { content } of results) text(content[0].text);`;

export function mind(): Script {
	const refused = new Set<string>();
	return ({ choice, json, tools, turns }) => {
		// Some clients set an effort or instructions in a message after the results.
		const last = turns.findLast(({ role }) => role !== "system");
		// Genkit adds a turn with the schema.
		const answered = turns.findLastIndex(({ role, text }) => role === "assistant" && text !== "");
		const sinceAnswer = turns.slice(answered + 1);
		const prompt = sinceAnswer.flatMap(({ role, text }) => (role === "user" ? [text] : [])).join("\n");
		// The result of Codex's search for tools has no text.
		if (last?.results.some(({ text }) => text !== ""))
			return say(`The tools answered: ${last.results.map(({ text }) => text).join("; ")}`);
		const limited = /Say this later: (\S+)/.exec(prompt)?.[1];
		if (limited !== undefined) {
			if (refused.has(limited)) return say(limited);
			refused.add(limited);
			return { kind: "failure", failure: "rate limit" };
		}
		if (prompt.includes(PROMPTS.forever)) return { kind: "endless", piece: "and one more " };
		if (prompt.includes("Alice is 30")) {
			// Some clients offer a tool whose arguments are the object, and do not force its call.
			const named = tools.find((name) => /structured_?output|person/i.test(name));
			const offered = named ?? (choice === "any" ? tools[0] : undefined);
			const forced = typeof choice === "object" ? choice.name : offered;
			if (forced !== undefined) return { kind: "tools", calls: [{ name: forced, input: PERSON }] };
			return say(json || tools.length === 0 ? JSON.stringify(PERSON) : "No schema arrived.");
		}
		const weather = tools.find((name) => name.includes("weather"));
		if (prompt.includes("weather in Paris")) {
			// Codex with `gpt-5.5` searches for the tools of an MCP server first, and with `gpt-6*` calls them in JavaScript.
			if (weather === undefined && tools.includes("tool_search"))
				return { kind: "tools", calls: [{ name: "tool_search", input: { query: "weather" } }] };
			if (weather === undefined && tools.includes("functions__exec"))
				return { kind: "tools", calls: [{ name: "functions__exec", input: { input: WEATHER_SCRIPT } }] };
			if (weather === undefined || choice === "none") return say(`No tool among: ${tools.join(", ")}`);
			return {
				kind: "tools",
				calls: ["Paris", "London"].map((city) => ({ name: weather, input: { city } })),
			};
		}
		if (prompt.includes(PROMPTS.image)) {
			const images = turns.flatMap((turn) => turn.images);
			return say(`Images of ${images.join(", ")} bytes.`);
		}
		const text = /Say this: (.*)/.exec(prompt)?.[1];
		if (text !== undefined) return say(text);
		if (!/what is my name/i.test(prompt)) return say("Nice to meet you.");
		const users = turns.filter(({ role }) => role === "user").length;
		const answers = turns.filter(({ role, text: answer }) => role === "assistant" && answer !== "").length;
		const name = /My name is (\w+)/.exec(turns.map((turn) => turn.text).join("\n"))?.[1] ?? "unknown";
		return say(`Your name is ${name}, after ${users - 1} turns and ${answers} answers.`);
	};
}

const say = (text: string): Reply => ({ kind: "text", pieces: piecesOf(text) });
