/** What the providers of these tests think of a conversation, whatever their dialect. No more than the tests ask for. */

export interface Turn {
	role: "system" | "user" | "assistant";
	text: string;
	/** What tools gave, in a turn of the user. */
	results: { name: string; text: string }[];
}

export interface Question {
	turns: Turn[];
	/** Names of tools. */
	tools: string[];
	/** `any`: something must be called; a name: that. */
	choice: "auto" | "none" | "any" | { name: string };
	/** A document is wanted. */
	json: boolean;
}

export interface Answer {
	text: string;
	calls: { name: string; input: Record<string, unknown> }[];
}

const CITIES = ["Paris", "London"];
export const DOCUMENT = { name: "Alice", mood: "happy", pets: [{ name: "Rex", kind: "dog" }] };

export function think({ turns, tools, choice, json }: Question): Answer {
	const last = turns.at(-1) ?? { role: "user", text: "", results: [] };
	const asked = turns.findLast(({ role, results }) => role === "user" && results.length === 0)?.text ?? "";
	const called = new Set(turns.flatMap(({ results }) => results.map(({ name }) => name)));
	const wants = (name: string, about: RegExp) =>
		choice !== "none" && tools.includes(name) && !called.has(name) && about.test(asked);
	const call = (name: string, ...inputs: Record<string, unknown>[]): Answer => ({
		text: "",
		calls: inputs.map((input) => ({ name, input })),
	});

	const cities = CITIES.filter((city) => asked.includes(city));
	if (wants("weather", /weather/i)) return call("weather", ...cities.map((city) => ({ city })));
	const said = turns.flatMap(({ results }) => results.map(({ text }) => text)).join("; ");
	if (wants("email", /email/i)) return call("email", { to: "bob@example.com", body: said });
	const forced = typeof choice === "object" ? choice.name : choice === "any" ? tools[0] : undefined;
	if (forced && last.results.length === 0) return call(forced, { city: "Paris" });
	if (json) return { text: JSON.stringify(DOCUMENT), calls: [] };
	if (said) return { text: `The tools say: ${said}`, calls: [] };
	const name = /My name is (\w+)/.exec(turns.map(({ text }) => text).join("\n"))?.[1];
	return { text: name ? `Your name is ${name}.` : "I do not know.", calls: [] };
}

/** In pieces, as a model says it. */
export const pieces = (text: string): string[] => text.match(/\s*\S{1,12}/g) ?? [];
