/** How a client library is loaded and called. `../libraries/` has one file for each. */

export const SCENARIOS = [
	"turn",
	"second",
	"stream",
	"tools",
	"structured",
	"image",
	"error",
	"abort",
] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** One file of `../libraries/`. */
export interface Library {
	/** What the tables call it. */
	title: string;
	/** npm packages. The first is the client: the tables have its version. */
	packages: readonly string[];
	/** Names that users of the client type. Each scenario runs with each of them. */
	models: readonly string[];
	open(context: Context): Promise<Operations> | Operations;
	/** Scenarios that it cannot do, with the line of its source or documentation that says so. */
	unsupported?: Partial<Record<Scenario, string>>;
	/** The client's own sentences for statuses that its errors do not have, or have wrong. */
	sentences?: Readonly<Record<number, RegExp>>;
	/** Its errors have the status without the gateway's sentence: the line of its source. */
	onlyStatus?: string;
	/** Its streams take no signal. A caller ends one by leaving the loop that reads it. */
	endsByLeaving?: true;
	/** It adds turns of its own to a conversation. */
	addsTurns?: true;
	/** Packages with install scripts that install their program for this platform. */
	installScripts?: readonly string[];
	/** Environment variables of its process. */
	env?: Readonly<Record<string, string>>;
}

export interface Context {
	/** `http://host` of the gateway. */
	origin: string;
	/** `{origin}/client/v4/accounts/{account}/ai`. */
	base: string;
	account: string;
	token: string;
	model: string;
	/** Imports a package of the client's own folder. `Module`: the exports that the client's file uses. */
	load<Module>(name: string): Promise<Module>;
}

/** What a scenario asks of a client. Absent: the client cannot do it, and `unsupported` has the reason. */
export interface Operations {
	/** Sends the prompts one after the other, with the client's own history. Returns the answers. */
	converse(prompts: readonly string[]): Promise<string[]>;
	/** The pieces of a streamed answer. `signal` aborts it. */
	stream?(prompt: string, signal: AbortSignal): AsyncIterable<string>;
	/** A complete answer, for a client without streams. `signal` aborts it. */
	interrupt?(prompt: string, signal: AbortSignal): Promise<unknown>;
	/** Runs the loop of calls and results until the model answers with a text. */
	callTools?(prompt: string, tool: LocalTool): Promise<string>;
	/** An answer that matches `PERSON_SCHEMA`. */
	extract?(prompt: string): Promise<unknown>;
	/** A question about an image. */
	describe?(prompt: string, png: Uint8Array): Promise<string>;
}

/** `weather`, whose only argument is a city. */
export interface LocalTool {
	name: string;
	description: string;
	run(city: string): string;
}

export const PERSON_SCHEMA = {
	type: "object",
	properties: { name: { type: "string" }, age: { type: "integer" } },
	required: ["name", "age"],
	additionalProperties: false,
} as const;

export const WEATHER_SCHEMA = {
	type: "object",
	properties: { city: { type: "string", description: "Name of the city" } },
	required: ["city"],
	additionalProperties: false,
} as const;

/** Names of this month: OpenAI's, by the API and efforts that they accept, and the product's own. */
export const OPENAI_MODELS = ["gpt-5.5", "gpt-5.6-sol", "gpt-6-luna", "gpt-6-astra", "gpt-6.1-sol"] as const;
export const CLAUDE_MODELS = ["claude-opus-5-5", "claude-sonnet-5-5"] as const;
export const GEMINI_MODELS = ["gemini-3.8-flash"] as const;
export const KIMI = "@cf/moonshotai/kimi-k2.6";
